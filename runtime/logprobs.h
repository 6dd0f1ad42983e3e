#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tp {

// Logarithms of the model's probabilities, before temperature, penalties and filters.
struct TokenLogprobs {
  float chosen = 0;                            // of the token that was taken
  std::vector<std::pair<int32_t, float>> top;  // the likeliest ids, best first; of equal ones the lower id first
};

// -ln softmax(logits)[target] of `vocab` logits.
double negative_log_likelihood(const float* logits, int64_t vocab, int32_t target);

TokenLogprobs token_logprobs(const float* logits, int64_t vocab, int32_t chosen, int64_t top);

}  // namespace tp
