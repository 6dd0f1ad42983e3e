#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/prompt_options.h"
#include "sharding/json_document.h"

namespace tp {

// A number of SamplingOptions: its name in Hugging Face's files, in JSONL and in requests (the option has `-` for `_`), its
// default and its range.
struct NumberSetting {
  std::string_view key;
  double otherwise;
  bool (*allowed)(double);
  std::string_view range;
  void (*set)(SamplingOptions& sampling, double value);
};
const std::vector<NumberSetting>& number_settings();

// The keys that apply_overrides() understands.
const std::vector<std::string>& override_keys();

// Changes `options` by what `object`, a line of JSONL or a request, has: the numbers above, do_sample, seed, logit_bias
// ({"id": bias}), stop (a text or a list), ignore_eos, logprobs (a count). Other keys are passed over, and so is a null. Throws
// Error with the key and what is wrong.
void apply_overrides(const Json& object, int64_t vocab_size, PromptOptions& options);

// How many continuations `object` asks for under `n` or `num_return_sequences`; `otherwise` when it does not say. Throws Error.
int64_t sample_count(const Json& object, int64_t otherwise);

// The stream of random numbers (sampler.h) of one continuation of prompt `index`: no two of a run have the same.
uint64_t random_stream(int64_t index, int64_t sample);

// More than one continuation of a prompt differ only where tokens are drawn. Throws Error for greedy ones.
void require_drawn(const SamplingOptions& sampling, int64_t samples);

}  // namespace tp
