#include <gmock/gmock.h>

#include "sharding/error.h"
#include "sharding/plan_check.h"
#include "sharding/slice.h"
#include "tests/sharding/plan_verdict.h"

namespace tp {
namespace {

const std::vector<std::string> kWholeExperts = {"layers.*.mlp.experts.*=replicated", "layers.*.mlp.experts=replicated"};

TEST(PlanCheck, ExpertsByFeaturesByExpertOrWhole) {
  const PlanSetting setting = {.family = "glm4_moe", .model = {.experts = 4}, .tp_size = 4};
  const auto with = [&](std::vector<std::string> overrides) {
    PlanSetting changed = setting;
    changed.overrides = std::move(overrides);
    return verdict(changed);
  };
  EXPECT_EQ(with({}), "accepted");
  EXPECT_EQ(with({"layers.*.mlp.experts.*=grouped_gemm", "layers.*.mlp.experts=ep_dispatch_experts"}), "accepted");
  EXPECT_EQ(with(kWholeExperts), "accepted");
}

TEST(PlanCheck, RefusesExpertsThatAreNotSummedRightly) {
  const auto with = [&](std::vector<std::string> overrides) {
    return verdict({.family = "glm4_moe", .model = {.experts = 4}, .overrides = std::move(overrides)});
  };
  EXPECT_EQ(
      with({"layers.*.mlp.experts=replicate"}),
      "--override layers.*.mlp.experts=replicate: layers.*.mlp.experts: the experts are cut by features and nothing sums the "
      "parts\n  fix: set layers.*.mlp.experts to `moe_tp_experts`");
  EXPECT_EQ(
      with({kWholeExperts[0]}),
      "plans/glm4_moe.yaml:10:3: layers.*.mlp.experts: `moe_tp_experts` sums over the chips, but every chip has the experts "
      "whole: the sum would be 2 times too large\n  fix: set layers.*.mlp.experts to `replicated`");
  EXPECT_EQ(with({"layers.*.mlp.experts.*=grouped_gemm"}),
            "plans/glm4_moe.yaml:10:3: layers.*.mlp.experts: `moe_tp_experts` does not fit experts that are cut by expert\n"
            "  fix: set layers.*.mlp.experts to `ep_dispatch_experts`");
  EXPECT_EQ(with({"layers.*.mlp.experts=colwise"}),
            "--override layers.*.mlp.experts=colwise: layers.*.mlp.experts: `colwise` is not for an experts module\n"
            "  fix: set layers.*.mlp.experts to `moe_tp_experts`");
  EXPECT_EQ(
      with({"layers.*.mlp.experts.down_proj=replicated"}),
      "--override layers.*.mlp.experts.down_proj=replicated: layers.*.mlp.experts.down_proj: the weights of the experts are "
      "cut in different ways: gate_up_proj is `packed_colwise` and down_proj is `replicated`\n"
      "  fix: set gate_up_proj to `packed_colwise`, down_proj to `rowwise` and layers.*.mlp.experts to `moe_tp_experts`, or "
      "gate_up_proj and down_proj to `grouped_gemm` and layers.*.mlp.experts to `ep_dispatch_experts`, or all to "
      "`replicated`");
  EXPECT_EQ(
      with({"layers.*.mlp.experts.gate_up_proj=colwise"}),
      "--override layers.*.mlp.experts.gate_up_proj=colwise: layers.*.mlp.experts.gate_up_proj: `colwise` would cut through "
      "the parts of this fused weight and give wrong numbers\n  fix: use `packed_colwise`");
  EXPECT_EQ(
      with({"layers.*.mlp.gate=colwise"}),
      "--override layers.*.mlp.gate=colwise: layers.*.mlp.gate: `colwise` cannot cut a router, which every chip runs whole\n"
      "  fix: remove the rule");
  EXPECT_EQ(
      with({"layers.*.mlp.shared_experts.up_proj=replicated"}),
      "--override layers.*.mlp.shared_experts.up_proj=replicated: layers.*.mlp.shared_experts.up_proj: half of the shared "
      "expert is split: gate_proj by features, while up_proj is whole on every chip\n"
      "  fix: set gate_proj and up_proj to `colwise` and down_proj to `rowwise`, or all of them to `replicated`");
}

TEST(PlanCheck, ExpertsWithBiasesAreCutByExpertOnly) {
  const PlanSetting setting = {.family = "gpt_oss", .model = {.sinks = true, .experts = 4, .expert_bias = true}};
  EXPECT_EQ(verdict(setting), "accepted");
  PlanSetting changed = setting;
  changed.overrides = {"layers.*.mlp.experts.*=grouped_gemm", "layers.*.mlp.experts=ep_dispatch_experts"};
  EXPECT_EQ(verdict(changed), "accepted");
  changed.overrides = {"layers.*.mlp.experts.gate_up_proj=packed_colwise"};
  EXPECT_EQ(verdict(changed),
            "--override layers.*.mlp.experts.gate_up_proj=packed_colwise: layers.*.mlp.experts.gate_up_proj: `packed_colwise` "
            "cannot cut this weight, in which gate and up alternate\n  fix: use `grouped_gemm`");
}

TEST(PlanCheck, LatentAttentionByHeadsOrWhole) {
  const auto with = [&](const std::string& family, int tp_size, std::vector<std::string> overrides) {
    return verdict({.family = family, .model = {.latent = true}, .tp_size = tp_size, .overrides = std::move(overrides)});
  };
  EXPECT_EQ(with("deepseek_v2", 4, {}), "accepted");
  EXPECT_EQ(with("deepseek_v3", 3, {}), "accepted");  // attention is whole
  EXPECT_EQ(with("deepseek_v2", 3, {}),
            "plans/deepseek_v2.yaml:5:3: layers.*.self_attn.q_b_proj: 8 heads cannot be split over 3 chips\n"
            "  fix: set q_b_proj, kv_b_proj and o_proj to `replicated`, or write `uneven: allow` in the plan");
  EXPECT_EQ(
      with("deepseek_v2", 2, {"layers.*.self_attn.kv_a_proj_with_mqa=colwise"}),
      "--override layers.*.self_attn.kv_a_proj_with_mqa=colwise: layers.*.self_attn.kv_a_proj_with_mqa: kv_a_layernorm needs "
      "its output whole on every chip\n  fix: use `replicated`");
  EXPECT_EQ(
      with("deepseek_v2", 2, {"layers.*.self_attn.kv_b_proj=replicated"}),
      "--override layers.*.self_attn.kv_b_proj=replicated: layers.*.self_attn.kv_b_proj: half of attention is split: q_b_proj "
      "by heads, while kv_b_proj is whole on every chip\n"
      "  fix: set q_b_proj and kv_b_proj to `colwise` and o_proj to `rowwise`, or all of them to `replicated`");
}

TEST(PlanCheck, SinksAndNormsForEachHeadFollowTheHeads) {
  const ToyModel model = {.norm_per_head = true, .sinks = true};
  EXPECT_EQ(verdict({.model = model, .tp_size = 4}), "accepted");
  for (const PlannedModule& planned : resolved({.model = model, .tp_size = 4}).modules) {
    if (planned.module.role == Role::kSinks || planned.module.role == Role::kKNorm) {
      EXPECT_EQ(planned.style, Style::kColwise);
      EXPECT_EQ(weight_slice(planned.module, planned.style, 1, 4).local_shape[0], planned.module.weight_shape[0] / 4);
    }
  }
  EXPECT_EQ(
      verdict({.model = model, .overrides = {"layers.*.self_attn.sinks=replicated"}}),
      "--override layers.*.self_attn.sinks=replicated: layers.*.self_attn.sinks: there is one for each head, and attention "
      "is split by heads\n  fix: remove the rule: they follow the heads");
  EXPECT_EQ(
      verdict({.model = model, .overrides = {"layers.*.self_attn.k_norm=replicated"}}),
      "--override layers.*.self_attn.k_norm=replicated: layers.*.self_attn.k_norm: it has a weight for each head, and k_proj "
      "is split by heads\n  fix: set k_norm to `colwise`");
}

}  // namespace
}  // namespace tp
