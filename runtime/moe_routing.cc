#include "runtime/moe_routing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tp {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void softmax(float* values, size_t count) {
  const float largest = *std::max_element(values, values + count);
  float sum = 0;
  for (size_t i = 0; i < count; ++i) sum += values[i] = std::exp(values[i] - largest);
  for (size_t i = 0; i < count; ++i) values[i] /= sum;
}

// Index of the largest value, the first of equal ones; it becomes kNever.
size_t take_largest(std::vector<float>& values) {
  const auto best = std::max_element(values.begin(), values.end());
  *best = kNever;
  return static_cast<size_t>(best - values.begin());
}

float group_score(std::vector<float> members, GroupScore kind) {
  std::sort(members.begin(), members.end(), std::greater<>());
  return kind == GroupScore::kMax || members.size() == 1 ? members[0] : members[0] + members[1];
}

// Leaves only the experts of the best groups in the running.
void keep_top_groups(std::vector<float>& choice, const MoeConfig& config) {
  const auto groups = static_cast<size_t>(config.groups);
  if (groups <= 1) return;
  const size_t members = choice.size() / groups;
  std::vector<float> scores;
  for (size_t group = 0; group < groups; ++group) {
    const auto begin = choice.begin() + static_cast<int64_t>(group * members);
    scores.push_back(group_score({begin, begin + static_cast<int64_t>(members)}, config.group_score));
  }
  std::vector<bool> kept(groups);
  for (int64_t i = 0; i < config.top_groups; ++i) kept[take_largest(scores)] = true;
  for (size_t expert = 0; expert < choice.size(); ++expert)
    if (!kept[expert / members]) choice[expert] = kNever;
}

// sparsemixer of transformers' phimoe, without its noise: the softmax of the best of `scores` among those near it; it becomes
// kNever in them. `all` are the scores of all experts.
ExpertChoice take_sparsely(std::vector<float>& scores, const std::vector<float>& all, double width) {
  const std::vector<float> before = scores;
  const size_t best = take_largest(scores);
  const float largest = before[best];
  float sum = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const float factor = std::max(std::abs(all[i]), largest);
    // Where both are 0 their distance is NaN, which is near.
    if (!((largest - all[i]) / factor > static_cast<float>(width))) sum += std::exp(before[i] - largest);
  }
  return {static_cast<int32_t>(best), 1.0f / sum};
}

void route_token(std::vector<float> scores, const MoeConfig& config, const float* correction, ExpertChoice* chosen) {
  if (config.router == RouterKind::kSoftmax) softmax(scores.data(), scores.size());
  if (config.router == RouterKind::kSigmoid)
    for (float& score : scores) score = 1.0f / (1.0f + std::exp(-score));
  std::vector<float> choice = scores;
  if (config.router == RouterKind::kSparseMixer) {
    for (int64_t i = 0; i < config.top_k; ++i) chosen[i] = take_sparsely(choice, scores, config.sparse_mixer_width);
    return;
  }
  if (correction != nullptr)
    for (size_t expert = 0; expert < choice.size(); ++expert) choice[expert] += correction[expert];
  keep_top_groups(choice, config);

  const auto top_k = static_cast<size_t>(config.top_k);
  std::vector<float> weights(top_k);
  for (size_t i = 0; i < top_k; ++i) {
    const size_t expert = take_largest(choice);
    chosen[i].expert = static_cast<int32_t>(expert);
    weights[i] = scores[expert];
  }
  if (config.router == RouterKind::kTopKSoftmax) softmax(weights.data(), top_k);
  if (config.router == RouterKind::kTopKSigmoid)
    for (float& weight : weights) weight = 1.0f / (1.0f + std::exp(-weight));
  float divisor = 1.0f;
  if (config.normalize_top_k) {
    divisor = config.router == RouterKind::kSigmoid ? 1e-20f : 0.0f;
    for (float weight : weights) divisor += weight;
  }
  for (size_t i = 0; i < top_k; ++i) chosen[i].weight = weights[i] / divisor * static_cast<float>(config.routed_scaling);
}

}  // namespace

std::vector<ExpertChoice> route_tokens(const float* logits, int64_t tokens, const MoeConfig& config, const float* correction) {
  std::vector<ExpertChoice> chosen(static_cast<size_t>(tokens * config.top_k));
  for (int64_t token = 0; token < tokens; ++token) {
    const float* row = logits + token * config.num_experts;
    route_token({row, row + config.num_experts}, config, correction, chosen.data() + token * config.top_k);
  }
  return chosen;
}

}  // namespace tp
