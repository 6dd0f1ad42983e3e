#include "runtime/logit_rules.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace tp {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void penalize(float* logits, int64_t vocab, const SamplingOptions& options, const std::vector<int32_t>& history) {
  std::unordered_map<int32_t, int64_t> counts;
  for (const int32_t id : history) {
    if (id >= 0 && id < vocab) ++counts[id];
  }
  const auto repetition = static_cast<float>(options.repetition_penalty);
  for (const auto& [id, count] : counts) {
    // A negative logit is multiplied, or the penalty would reward the token.
    logits[id] = logits[id] < 0 ? logits[id] * repetition : logits[id] / repetition;
    logits[id] -= static_cast<float>(options.presence_penalty + static_cast<double>(count) * options.frequency_penalty);
  }
}

void forbid_repeated_ngrams(float* logits, int64_t vocab, int64_t size, const std::vector<int32_t>& history) {
  const auto length = static_cast<int64_t>(history.size());
  const auto last = history.end() - std::min(length, size - 1);
  for (int64_t begin = 0; begin + size <= length; ++begin) {
    const int32_t id = history[static_cast<size_t>(begin + size - 1)];
    if (id >= 0 && id < vocab && std::equal(last, history.end(), history.begin() + begin)) logits[id] = kNever;
  }
}

}  // namespace

void apply_logit_rules(float* logits, int64_t vocab, const SamplingOptions& options, const std::vector<int32_t>& history) {
  for (const auto& [id, bias] : options.logit_bias) {
    if (id >= 0 && id < vocab) logits[id] += static_cast<float>(bias);
  }
  if (options.repetition_penalty != 1.0 || options.presence_penalty != 0.0 || options.frequency_penalty != 0.0)
    penalize(logits, vocab, options, history);
  if (options.no_repeat_ngram_size > 0) forbid_repeated_ngrams(logits, vocab, options.no_repeat_ngram_size, history);
}

}  // namespace tp
