#pragma once

#include <cstdint>
#include <vector>

#include "runtime/sampler.h"

namespace tp {

// What is done to the `logits` [vocab] of the next token before one is chosen, in the order of transformers:
//   logit_bias            is added
//   repetition_penalty    once per id of `history`: a positive logit is divided by it, a negative one multiplied
//   presence_penalty      is taken off once per id of `history`
//   frequency_penalty     is taken off as often as the id is in `history`
//   no_repeat_ngram_size  ids that would complete n ids in a row that `history` has already become -inf
// `history` = prompt and output so far; ids of it that no logit has are passed over.
void apply_logit_rules(float* logits, int64_t vocab, const SamplingOptions& options, const std::vector<int32_t>& history);

}  // namespace tp
