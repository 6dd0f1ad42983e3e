#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/collectives.h"
#include "runtime/engine.h"
#include "runtime/logprobs.h"
#include "runtime/prompt_source.h"
#include "sharding/model_config.h"

namespace tp {

enum class FinishReason {
  kEos,          // a token of eos_token_ids, kept in the output
  kStop,         // the sink said so (a stop string)
  kLength,       // max_new_tokens
  kInterrupted,  // a stop signal
  kCancelled,    // the source said so
};

struct GenerateOptions {
  std::vector<int32_t> eos_token_ids;
  int64_t allowed_vocab = 0;  // ids from here on are never chosen; 0 = every id of the model may be
  bool prefix_cache = false;  // prompts start behind what a slot already holds of them
  // Set by a signal handler of this rank to the signal's number; all ranks stop at the same token when any rank's is set.
  const std::atomic<int>* stop_signal = nullptr;
};

// Gets what is generated, on rank 0 alone, in the order in which it is produced; prompts take turns when several are in flight.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  // The prompt has a slot, where `reused` of its tokens are cached already.
  virtual void started(size_t /*index*/, int64_t /*reused*/) {}
  // Of the token that comes next, for prompts that ask for it.
  virtual void logprobs(size_t /*index*/, const TokenLogprobs& /*logprobs*/) {}
  // A new token of prompt `index`; true = stop this prompt after it.
  virtual bool token(size_t index, int32_t id) = 0;
  virtual void finished(size_t index, FinishReason reason) = 0;
};

struct GenerateTimes {
  int64_t prefill_tokens = 0, decode_tokens = 0;
  int64_t reused_tokens = 0;  // of prompts, found in the cache
  double prefill_s = 0, decode_s = 0;
};

struct GenerateResult {
  GenerateTimes times;
  int stop_signal = 0;  // the agreed signal that ended the run; 0 = it ran to its end
};

// Width of the static bucket that takes `length` tokens: 16, 32, 64, … but never more than cache_len.
int64_t bucket_width(int64_t length, int64_t cache_len);

// Continues every prompt of `source`, as many at a time as the engine has slots: prefill in static buckets, then one decode
// step per token for all that are in flight; a slot that becomes free takes the next prompt. Rank 0 samples and broadcasts the
// tokens and who stops, so all ranks agree. Collective; `sink` is used on rank 0 alone. Throws Error for a prompt that is empty
// or, with its max_new_tokens, longer than the cache.
GenerateResult generate(Engine& engine, Communicator& communicator, const ModelConfig& config, PromptSource& source,
                        const GenerateOptions& options, TokenSink* sink);

// The same for a list that every rank has; each prompt's index is its place in it. All are checked before anything runs.
GenerateResult generate(Engine& engine, Communicator& communicator, const ModelConfig& config,
                        const std::vector<GeneratePrompt>& prompts, const GenerateOptions& options, TokenSink* sink);

}  // namespace tp
