// Frequencies against those that transformers 5.24.0 (modeling_rope_utils.py) gives for the same numbers.
#include "runtime/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tp {
namespace {

RopeConfig rope(RopeType type, double factor) {
  RopeConfig config;
  config.type = type;
  config.rotary_dim = 16;
  config.factor = factor;
  config.original_max_position = 64;
  return config;
}

RopeConfig longrope() {
  RopeConfig config = rope(RopeType::kLongRope, 4);
  config.short_factor = {1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7};
  config.long_factor = {2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0};
  return config;
}

void expect_frequencies(const RopeFrequencies& got, const std::vector<float>& want, float attention_factor) {
  ASSERT_EQ(got.inverse.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got.inverse[i], want[i], 1e-6f * want[i]) << "pair " << i;
  EXPECT_FLOAT_EQ(got.attention_factor, attention_factor);
}

TEST(RopeFrequencies, Default) {
  expect_frequencies(
      rope_frequencies(rope(RopeType::kDefault, 1), 64, 1000),
      {1, 0.316227764f, 0.100000001f, 0.0316227786f, 0.00999999978f, 0.00316227786f, 0.00100000005f, 0.000316227786f}, 1);
}

TEST(RopeFrequencies, Linear) {
  expect_frequencies(
      rope_frequencies(rope(RopeType::kLinear, 4), 64, 1000),
      {0.25f, 0.079056941f, 0.0250000004f, 0.00790569466f, 0.00249999994f, 0.000790569466f, 0.000250000012f, 7.90569466e-05f},
      1);
}

TEST(RopeFrequencies, DynamicStretchesOnlyBeyondTheModelsLength) {
  const RopeConfig config = rope(RopeType::kDynamic, 4);
  expect_frequencies(
      rope_frequencies(config, 64, 64),
      {1, 0.316227764f, 0.100000001f, 0.0316227786f, 0.00999999978f, 0.00316227786f, 0.00100000005f, 0.000316227786f}, 1);
  expect_frequencies(
      rope_frequencies(config, 64, 100),
      {1, 0.267223001f, 0.0714081228f, 0.0190818924f, 0.00509912008f, 0.00136260199f, 0.000364118576f, 9.730085e-05f}, 1);
}

TEST(RopeFrequencies, Llama3KeepsShortWavesScalesLongOnesAndBlendsBetween) {
  RopeConfig config = rope(RopeType::kLlama3, 8);
  config.theta = 500;
  expect_frequencies(
      rope_frequencies(config, 256, 10),
      {1, 0.459863275f, 0.0976166278f, 0.0121561559f, 0.00559017016f, 0.0025707141f, 0.00118217699f, 0.000543639821f}, 1);
}

TEST(RopeFrequencies, Yarn) {
  expect_frequencies(
      rope_frequencies(rope(RopeType::kYarn, 4), 256, 10),
      {1, 0.237170815f, 0.049999997f, 0.00790569466f, 0.00249999994f, 0.000790569466f, 0.000250000012f, 7.90569466e-05f},
      1.13862944f);
}

TEST(RopeFrequencies, YarnWithoutTruncation) {
  RopeConfig config = rope(RopeType::kYarn, 4);
  config.truncate = false;
  expect_frequencies(
      rope_frequencies(config, 256, 10),
      {1, 0.198583528f, 0.0255952496f, 0.00790569466f, 0.00249999994f, 0.000790569466f, 0.000250000012f, 7.90569466e-05f},
      1.13862944f);
}

TEST(RopeFrequencies, YarnWithScalesOfDeepSeek) {
  RopeConfig config = rope(RopeType::kYarn, 40);
  config.mscale = 0.707;
  config.mscale_all_dim = 0.5;
  config.beta_fast = 16;
  config.beta_slow = 2;
  expect_frequencies(
      rope_frequencies(config, 256, 10),
      {1, 0.162066728f, 0.00249999994f, 0.000790569466f, 0.000250000012f, 7.90569466e-05f, 2.49999994e-05f, 7.90569447e-06f},
      1.0644689f);
}

TEST(RopeFrequencies, LongRopeChangesItsFactorsBeyondTheOriginalLength) {
  expect_frequencies(
      rope_frequencies(longrope(), 256, 64),
      {1, 0.287479758f, 0.0833333358f, 0.0243252143f, 0.00714285718f, 0.00210818532f, 0.000624999986f, 0.000186016332f},
      1.15470054f);
  expect_frequencies(
      rope_frequencies(longrope(), 256, 65),
      {0.5f, 0.126491114f, 0.0333333351f, 0.00903507881f, 0.00249999994f, 0.000632455572f, 0.000166666665f, 3.95284733e-05f},
      1.15470054f);
}

TEST(RopeTable, TurnsEachRowFromItsOwnStartByItsOwnLength) {
  RopeConfig config = rope(RopeType::kLinear, 2);
  config.rotary_dim = 4;  // frequencies 1/2 and 1/200
  const RopeTable table = rope_table(config, 64, 2, {0, 10}, {2, 12});
  const std::vector<float> angles = {0, 0, 0.5f, 0.005f, 5, 0.05f, 5.5f, 0.055f};
  ASSERT_EQ(table.cos.size(), angles.size());
  for (size_t i = 0; i < angles.size(); ++i) {
    EXPECT_NEAR(table.cos[i], std::cos(angles[i]), 1e-6) << i;
    EXPECT_NEAR(table.sin[i], std::sin(angles[i]), 1e-6) << i;
  }
}

TEST(RopeTable, TheAttentionFactorMultipliesBoth) {
  const RopeTable table = rope_table(longrope(), 256, 1, {1}, {2});
  EXPECT_NEAR(table.cos[0], 1.15470054 * std::cos(1.0), 1e-6);
  EXPECT_NEAR(table.sin[0], 1.15470054 * std::sin(1.0), 1e-6);
}

TEST(RopeTable, MayTurnTheOtherWay) {
  RopeConfig config = rope(RopeType::kLinear, 2);
  config.reversed = true;
  const RopeTable table = rope_table(config, 64, 1, {4}, {5});
  EXPECT_NEAR(table.cos[0], std::cos(2.0), 1e-6);
  EXPECT_NEAR(table.sin[0], -std::sin(2.0), 1e-6);
}

TEST(RopeTable, MayGrowWithThePosition) {
  RopeConfig config = rope(RopeType::kLinear, 2);
  config.original_max_position = 4;
  config.position_beta = 0.5;
  const RopeTable table = rope_table(config, 64, 2, {3}, {5});
  const size_t half = table.cos.size() / 2;
  EXPECT_NEAR(table.cos[0], std::cos(1.5), 1e-6);
  EXPECT_NEAR(table.cos[half], (1 + 0.5 * std::log(2.0)) * std::cos(2.0), 1e-6);
  EXPECT_NEAR(table.sin[half], (1 + 0.5 * std::log(2.0)) * std::sin(2.0), 1e-6);
}

TEST(RopeRebuild, OnlyWhereLongRopePassesItsOriginalLength) {
  ModelConfig config;
  config.ropes = {rope(RopeType::kYarn, 4)};
  EXPECT_FALSE(rope_needs_rebuild(config, 64, 65));
  config.ropes.push_back(longrope());
  EXPECT_FALSE(rope_needs_rebuild(config, 63, 64));
  EXPECT_TRUE(rope_needs_rebuild(config, 64, 65));
  EXPECT_FALSE(rope_needs_rebuild(config, 65, 66));
}

}  // namespace
}  // namespace tp
