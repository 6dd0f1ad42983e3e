#include "runtime/logprobs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tp {

double negative_log_likelihood(const float* logits, int64_t vocab, int32_t target) {
  const double largest = *std::max_element(logits, logits + vocab);
  double sum = 0;
  for (int64_t id = 0; id < vocab; ++id) sum += std::exp(logits[id] - largest);
  return largest + std::log(sum) - logits[target];
}

TokenLogprobs token_logprobs(const float* logits, int64_t vocab, int32_t chosen, int64_t top) {
  const double log_sum = negative_log_likelihood(logits, vocab, chosen) + logits[chosen];
  TokenLogprobs result;
  result.chosen = static_cast<float>(logits[chosen] - log_sum);
  std::vector<int32_t> ids(static_cast<size_t>(top > 0 ? vocab : 0));
  std::iota(ids.begin(), ids.end(), 0);
  const auto count = static_cast<std::ptrdiff_t>(std::min(top, vocab));
  std::partial_sort(ids.begin(), ids.begin() + std::max<std::ptrdiff_t>(count, 0), ids.end(),
                    [&](int32_t a, int32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const int32_t id = ids[static_cast<size_t>(i)];
    result.top.emplace_back(id, static_cast<float>(logits[id] - log_sum));
  }
  return result;
}

}  // namespace tp
