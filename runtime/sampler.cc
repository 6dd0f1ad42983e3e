#include "runtime/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/largest_logit.h"
#include "runtime/logit_rules.h"

namespace tp {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// A candidate and its weight: exp(logit - largest logit), not normalized.
struct Candidate {
  int32_t id;
  float logit;
  double weight = 0.0;
};

// The finalizer of splitmix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Ties at the border stay, as in transformers.
void keep_top_k(std::vector<Candidate>& candidates, int64_t k) {
  if (k <= 0 || k >= static_cast<int64_t>(candidates.size())) return;
  std::vector<float> sorted(candidates.size());
  std::transform(candidates.begin(), candidates.end(), sorted.begin(), [](const Candidate& c) { return c.logit; });
  std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end(), std::greater<>());
  const float border = sorted[k - 1];
  std::erase_if(candidates, [&](const Candidate& c) { return c.logit < border; });
}

// Drops the least likely ids whose probabilities sum to no more than 1 - p; the most likely one stays.
void keep_top_p(std::vector<Candidate>& candidates, double p) {
  if (p >= 1.0) return;
  // Equal logits: the higher id goes first, so that what is kept does not depend on the sort.
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit < b.logit : a.id > b.id; });
  double total = 0.0;
  for (const Candidate& c : candidates) total += c.weight;
  double sum = 0.0;
  size_t drop = 0;
  while (drop + 1 < candidates.size() && (sum += candidates[drop].weight) <= (1.0 - p) * total) ++drop;
  candidates.erase(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(drop));
}

// Against the probability of the most likely id, whose weight is 1.
void keep_min_p(std::vector<Candidate>& candidates, double min_p) {
  std::erase_if(candidates, [&](const Candidate& c) { return c.weight < min_p && c.weight < 1.0; });
}

// argmin over the ids of e_i / w_i with e_i exponentially distributed draws i with probability w_i / sum (the Gumbel-max
// trick). Each id has its own random number, so rounding that differs between tp sizes changes the choice only when two ids
// are within that rounding of each other; walking a cumulative sum would shift every border behind a changed weight.
int32_t draw(const std::vector<Candidate>& candidates, uint64_t key) {
  double best = std::numeric_limits<double>::infinity();
  int32_t chosen = candidates.front().id;
  for (const Candidate& c : candidates) {
    const uint64_t bits = mix(key ^ mix(static_cast<uint64_t>(c.id))) >> 11;  // 53 bits, as many as a double holds
    const double u = (static_cast<double>(bits) + 0.5) * 0x1p-53;             // in (0, 1)
    if (1.0 - u > best * c.weight) continue;                                  // -log(u) >= 1 - u: cannot win
    const double score = -std::log(u) / c.weight;
    if (score < best || (score == best && c.id < chosen)) {
      best = score;
      chosen = c.id;
    }
  }
  return chosen;
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options, uint64_t stream) : options_(options), stream_(stream) {}

int32_t Sampler::next(float* logits, int64_t vocab, int64_t allowed_vocab, const std::vector<int32_t>& history) {
  const uint64_t step = step_++;
  if (allowed_vocab < vocab) std::fill(logits + std::max<int64_t>(allowed_vocab, 0), logits + vocab, kNever);
  apply_logit_rules(logits, vocab, options_, history);
  const int32_t top = require_token(largest_logit(logits, vocab, 0));
  if (!options_.do_sample || options_.temperature == 0.0) return top;

  // The order of transformers: temperature, top-k, top-p, min-p.
  const float temperature = static_cast<float>(options_.temperature);
  const float top_logit = logits[top] / temperature;
  if (std::isinf(top_logit)) return top;
  std::vector<Candidate> candidates;
  candidates.reserve(vocab);
  for (int64_t id = 0; id < vocab; ++id) {
    if (logits[id] != kNever) candidates.push_back({static_cast<int32_t>(id), logits[id] / temperature});
  }
  keep_top_k(candidates, options_.top_k);
  for (Candidate& c : candidates) c.weight = std::exp(static_cast<double>(c.logit) - top_logit);
  std::erase_if(candidates, [](const Candidate& c) { return c.weight == 0.0; });
  keep_top_p(candidates, options_.top_p);
  keep_min_p(candidates, options_.min_p);
  return draw(candidates, mix(mix(mix(options_.seed) ^ stream_) ^ step));
}

}  // namespace tp
