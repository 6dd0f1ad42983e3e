#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/sampler.h"

namespace tp {

struct GeneratePrompt {
  std::vector<int32_t> ids;  // at least one
  int64_t max_new_tokens = 0;
  // How rank 0 chooses its tokens; other ranks need to know likeliest() alone.
  SamplingOptions sampling;
  uint64_t random_stream = 0;
  bool ignore_eos = false;
  std::optional<int64_t> top_logprobs;  // the sink gets logprobs, with that many of the likeliest ids

  // Nothing but the likeliest token is asked for, so that the ranks need not gather all logits.
  bool likeliest() const { return sampling.takes_the_likeliest() && !top_logprobs; }
};

// What came since the last call.
struct PromptArrivals {
  std::vector<std::pair<size_t, GeneratePrompt>> prompts;  // each with the index that the sink is told
  std::vector<size_t> cancelled;                           // nobody wants the rest of these any more
  bool last = false;                                       // nothing will come after these
};

// Where the prompts of a run come from.
class PromptSource {
 public:
  virtual ~PromptSource() = default;
  // Collective: every rank gets the same arrivals. `wanted` = prompts that find a slot; `idle` = nothing is in flight, so that
  // the call may wait a little.
  virtual PromptArrivals take(int64_t wanted, bool idle) = 0;
  // A stop signal came: true = what was accepted is still to be finished, and take() says when that was the last.
  virtual bool drain() { return false; }
};

}  // namespace tp
