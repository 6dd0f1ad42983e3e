#include "runtime/moe_routing.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tp {
namespace {

MoeConfig config_of(RouterKind kind, int64_t experts, int64_t top_k) {
  MoeConfig config;
  config.num_experts = experts;
  config.top_k = top_k;
  config.router = kind;
  return config;
}

TEST(MoeRouting, SoftmaxThenTopKKeepsTheShareOfAllExperts) {
  const std::vector<float> logits = {0.0f, std::log(2.0f), std::log(5.0f)};
  const auto chosen = route_tokens(logits.data(), 1, config_of(RouterKind::kSoftmax, 3, 2), nullptr);
  EXPECT_EQ(chosen[0].expert, 2);
  EXPECT_FLOAT_EQ(chosen[0].weight, 0.625f);
  EXPECT_EQ(chosen[1].expert, 1);
  EXPECT_FLOAT_EQ(chosen[1].weight, 0.25f);
}

TEST(MoeRouting, NormalizedWeightsSumToTheScaling) {
  MoeConfig config = config_of(RouterKind::kSoftmax, 3, 2);
  config.normalize_top_k = true;
  config.routed_scaling = 1.4;
  const std::vector<float> logits = {0.0f, std::log(2.0f), std::log(5.0f)};
  const auto chosen = route_tokens(logits.data(), 1, config, nullptr);
  EXPECT_FLOAT_EQ(chosen[0].weight, 1.0f);
  EXPECT_FLOAT_EQ(chosen[1].weight, 0.4f);
}

TEST(MoeRouting, TiesTakeTheLowerIndex) {
  const std::vector<float> logits = {1.0f, 3.0f, 3.0f, 3.0f};
  const auto chosen = route_tokens(logits.data(), 1, config_of(RouterKind::kTopKSoftmax, 4, 2), nullptr);
  EXPECT_EQ(chosen[0].expert, 1);
  EXPECT_EQ(chosen[1].expert, 2);
  EXPECT_FLOAT_EQ(chosen[0].weight, 0.5f);
}

TEST(MoeRouting, TheBestTwoOfASparseMixerMayBothBeZero) {
  MoeConfig config = config_of(RouterKind::kSparseMixer, 4, 2);
  config.sparse_mixer_width = 0.02;
  const std::vector<float> logits = {0.0f, 0.0f, -1.0f, -2.0f};
  const auto chosen = route_tokens(logits.data(), 1, config, nullptr);  // numbers of transformers' sparsemixer
  EXPECT_EQ(chosen[0].expert, 0);
  EXPECT_FLOAT_EQ(chosen[0].weight, 0.5f);
  EXPECT_EQ(chosen[1].expert, 1);
  EXPECT_FLOAT_EQ(chosen[1].weight, 1.0f);
}

TEST(MoeRouting, CorrectionChoosesButDoesNotWeigh) {
  const std::vector<float> logits = {0.0f, 0.0f, 0.0f}, correction = {0.0f, 0.0f, 0.1f};
  const auto chosen = route_tokens(logits.data(), 1, config_of(RouterKind::kSigmoid, 3, 1), correction.data());
  EXPECT_EQ(chosen[0].expert, 2);
  EXPECT_FLOAT_EQ(chosen[0].weight, 0.5f);
}

TEST(MoeRouting, OnlyTheBestGroupsTakePart) {
  MoeConfig config = config_of(RouterKind::kSigmoid, 4, 2);
  config.groups = 2;
  config.top_groups = 1;
  config.group_score = GroupScore::kTopTwoSum;
  // The single best expert is in the group with the lower sum.
  const std::vector<float> logits = {3.0f, -3.0f, 2.0f, 1.9f};
  const auto chosen = route_tokens(logits.data(), 1, config, nullptr);
  EXPECT_EQ(chosen[0].expert, 2);
  EXPECT_EQ(chosen[1].expert, 3);
}

}  // namespace
}  // namespace tp
