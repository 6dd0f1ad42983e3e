#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tp {

struct SamplingOptions {
  bool do_sample = false;    // false = greedy, ties take the lower id
  double temperature = 1.0;  // 0 = greedy
  int64_t top_k = 0;         // 0 = all (design: Hugging Face's default of 50 applies only if generation_config says so)
  double top_p = 1.0;
  double min_p = 0.0;
  // What logit_rules.h does with the logits, over prompt and output.
  double repetition_penalty = 1.0;
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  int64_t no_repeat_ngram_size = 0;                    // 0 = any may repeat
  std::vector<std::pair<int32_t, double>> logit_bias;  // added to the logit of an id
  uint64_t seed = 0;

  // The likeliest token as the model has it is the next one: nobody needs the other logits.
  bool takes_the_likeliest() const {
    return (!do_sample || temperature == 0.0) && repetition_penalty == 1.0 && presence_penalty == 0.0 &&
           frequency_penalty == 0.0 && no_repeat_ngram_size == 0 && logit_bias.empty();
  }
};

// Chooses the next token of one sequence. The random numbers depend on the seed, the stream and the step alone, so the same
// seed gives the same text for any tp_size and batch position.
class Sampler {
 public:
  // `stream`: which of the seed's sequences of random numbers.
  Sampler(const SamplingOptions& options, uint64_t stream);
  // `logits` [vocab] are changed in place; ids >= allowed_vocab are never chosen; `history` = prompt and output so far.
  int32_t next(float* logits, int64_t vocab, int64_t allowed_vocab, const std::vector<int32_t>& history);

 private:
  SamplingOptions options_;
  uint64_t stream_;
  uint64_t step_ = 0;
};

}  // namespace tp
