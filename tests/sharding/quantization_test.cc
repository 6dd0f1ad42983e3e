#include "sharding/quantization.h"

#include <gtest/gtest.h>

#include "sharding/error.h"
#include "sharding/plan_yaml.h"
#include "tests/sharding/toy_model.h"

namespace tp {
namespace {

// What is refused for a toy model on `tp_size` ranks; empty = nothing.
std::string refusal(const ToyModel& model, int tp_size, WeightKind kind) {
  const ModelConfig config = model.config();
  Plan plan = load_plan({}, config, std::filesystem::path(TPRUN_SOURCE_DIR) / "plans");
  try {
    ResolvedPlan resolved = resolve_plan(std::move(plan), model.modules(), tp_size);
    settle_weight_kinds(resolved, config, nullptr, kind);
    return "";
  } catch (const Error& error) {
    return error.text();
  }
}

TEST(Quantization, KindsHaveNames) {
  EXPECT_EQ(weight_kind(""), WeightKind::kStored);
  EXPECT_EQ(weight_kind("int8"), WeightKind::kInt8);
  EXPECT_EQ(weight_kind("int4"), WeightKind::kInt4Group32);
  EXPECT_EQ(weight_kind("int4-128"), WeightKind::kInt4Group128);
  try {
    weight_kind("int3");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), "--weights: `int3` is no kind of weights\n  fix: int8, int4 or int4-128");
  }
}

TEST(Quantization, WhatDecidesStaysAndAHeadBesideInt4IsInt8) {
  EXPECT_EQ(kind_of(Role::kQ, WeightKind::kInt4Group32), WeightKind::kInt4Group32);
  EXPECT_EQ(kind_of(Role::kLmHead, WeightKind::kInt4Group32), WeightKind::kInt8);
  EXPECT_EQ(kind_of(Role::kLmHead, WeightKind::kStored), WeightKind::kStored);
  EXPECT_EQ(kind_of(Role::kRouter, WeightKind::kInt8), WeightKind::kStored);
  EXPECT_EQ(kind_of(Role::kEmbedding, WeightKind::kInt8), WeightKind::kStored);
  EXPECT_EQ(kind_of(Role::kFinalNorm, WeightKind::kInt8), WeightKind::kStored);
}

TEST(Quantization, ScalesCount) {
  EXPECT_EQ(weight_bytes(WeightKind::kStored, DType::kBF16, 10, 256), 10 * 256 * 2);
  EXPECT_EQ(weight_bytes(WeightKind::kInt8, DType::kBF16, 10, 256), 10 * (256 + 2));
  EXPECT_EQ(weight_bytes(WeightKind::kInt4Group32, DType::kBF16, 10, 256), 10 * (128 + 8 * 2));
  EXPECT_EQ(weight_bytes(WeightKind::kInt4Group128, DType::kBF16, 10, 256), 10 * (128 + 2 * 2));
}

TEST(Quantization, ACutThatDividesGroupsIsRefusedWithTheNumbersThatDoNot) {
  // down_proj has 160 inputs: five groups of 32.
  EXPECT_EQ(refusal({}, 1, WeightKind::kInt4Group32), "");
  EXPECT_EQ(refusal({}, 4, WeightKind::kInt8), "");
  EXPECT_EQ(
      refusal({.layers = 1}, 2, WeightKind::kInt4Group32),
      "--weights int4: model.layers.0.mlp.down_proj: 160 inputs over 2 ranks are not whole groups of 32; with these numbers of "
      "ranks they are: 1, 5\n  fix: another number of ranks, another kind or none");
  EXPECT_EQ(refusal({.layers = 1, .intermediate = 256}, 2, WeightKind::kInt4Group32), "");
  // A row may end within a group, on one rank: 160 inputs are one group of 128 and 32 more.
  EXPECT_EQ(refusal({.layers = 1}, 1, WeightKind::kInt4Group128), "");
}

}  // namespace
}  // namespace tp
