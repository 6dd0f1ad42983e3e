#include "sharding/plan_check.h"

#include <gmock/gmock.h>

#include "sharding/error.h"
#include "sharding/slice.h"
#include "tests/sharding/plan_verdict.h"

namespace tp {
namespace {

TEST(PlanCheck, AcceptsTheDefaultPlan) {
  EXPECT_EQ(verdict({.tp_size = 2}), "accepted");
  EXPECT_EQ(verdict({.tp_size = 4}), "accepted");
  EXPECT_EQ(verdict({.family = "qwen3", .model = {.qk_norm = true}, .tp_size = 4}), "accepted");
  EXPECT_EQ(verdict({.family = "olmo2", .model = {.full_qk_norm = true}, .tp_size = 4}), "accepted");
  EXPECT_EQ(verdict({.family = "phi3", .model = {.fused_qkv = true, .fused_gate_up = true}, .tp_size = 4}), "accepted");
  EXPECT_EQ(verdict({.family = "glm4", .model = {.fused_gate_up = true}, .tp_size = 4}), "accepted");
}

TEST(PlanCheck, AcceptsVocabulariesAndMlpsThatDoNotDivide) {
  EXPECT_EQ(verdict({.model = {.vocab = 257, .intermediate = 99, .heads = 6, .kv_heads = 3}, .tp_size = 3}), "accepted");
}

TEST(PlanCheck, RefusesKvHeadsThatDoNotDivide) {
  EXPECT_EQ(verdict({.family = "glm4", .model = {.kv_heads = 2, .fused_gate_up = true}, .tp_size = 4}),
            "plans/glm4.yaml:5:3: layers.*.self_attn.k_proj: 2 KV heads cannot be split over 4 chips\n"
            "  fix: set q_proj, k_proj, v_proj and o_proj to `replicated`, or k_proj and v_proj to `kv_replicated`");
}

TEST(PlanCheck, RefusesHeadsThatDoNotDivide) {
  EXPECT_EQ(verdict({.model = {.heads = 9, .kv_heads = 3}, .tp_size = 2}),
            "plans/llama.yaml:4:3: layers.*.self_attn.q_proj: 9 heads cannot be split over 2 chips\n"
            "  fix: set q_proj, k_proj, v_proj and o_proj to `replicated`, or write `uneven: allow` in the plan\n"
            "tprun: error: plans/llama.yaml:5:3: layers.*.self_attn.k_proj: 3 KV heads cannot be split over 2 chips\n"
            "  fix: set q_proj, k_proj, v_proj and o_proj to `replicated`, or write `uneven: allow` in the plan");
  // 8 query and 3 KV heads are no grouped attention of a real model, but 6 and 3 on 2 chips are.
  EXPECT_EQ(verdict({.model = {.heads = 6, .kv_heads = 3}, .tp_size = 2}),
            "plans/llama.yaml:5:3: layers.*.self_attn.k_proj: 3 KV heads cannot be split over 2 chips\n"
            "  fix: set q_proj, k_proj, v_proj and o_proj to `replicated`, or write `uneven: allow` in the plan");
}

TEST(PlanCheck, UnevenAllowsWholeKvGroups) {
  for (int tp_size : {2, 4}) {
    EXPECT_EQ(verdict({.model = {.heads = 9, .kv_heads = 3}, .tp_size = tp_size, .uneven = true}), "accepted");
    EXPECT_EQ(verdict({.model = {.heads = 6, .kv_heads = 3}, .tp_size = tp_size, .uneven = true}), "accepted");
  }
  EXPECT_EQ(verdict({.family = "phi3",
                     .model = {.heads = 6, .kv_heads = 3, .fused_qkv = true, .fused_gate_up = true},
                     .overrides = {"layers.*.self_attn.qkv_proj=packed_colwise", "layers.*.self_attn.o_proj=rowwise"},
                     .uneven = true}),
            "accepted");
  const ResolvedPlan plan = resolved({.model = {.heads = 6, .kv_heads = 3, .head_dim = 8}, .tp_size = 2, .uneven = true});
  for (const PlannedModule& planned : plan.modules) {
    const ModuleSpec& module = planned.module;
    if (module.role == Role::kQ) {
      EXPECT_EQ(weight_slice(module, planned.style, 0, 2).runs, (std::vector<SliceRun>{{0, 32, 0}}));
      EXPECT_EQ(weight_slice(module, planned.style, 1, 2).runs, (std::vector<SliceRun>{{32, 16, 0}}));
      EXPECT_EQ(weight_slice(module, planned.style, 1, 2).local_shape, (std::vector<int64_t>{32, 64}));
    }
    if (module.role == Role::kK) {
      EXPECT_EQ(weight_slice(module, planned.style, 1, 2).runs, (std::vector<SliceRun>{{16, 8, 0}}));
    }
    if (module.role == Role::kO) {
      EXPECT_EQ(weight_slice(module, planned.style, 1, 2).runs, (std::vector<SliceRun>{{32, 16, 0}}));
    }
  }
}

TEST(PlanCheck, WholeAttentionIsRightForAnyHeads) {
  const std::vector<std::string> whole = {"layers.*.self_attn.q_proj=replicated", "layers.*.self_attn.k_proj=replicate",
                                          "layers.*.self_attn.v_proj=replicated_with_grad_allreduce",
                                          "layers.*.self_attn.o_proj=replicated"};
  EXPECT_EQ(verdict({.family = "glm4", .model = {.kv_heads = 2, .fused_gate_up = true}, .tp_size = 4, .overrides = whole}),
            "accepted");
}

TEST(PlanCheck, KvReplicatedNeedsAMultipleOfTheKvHeads) {
  const std::vector<std::string> kv = {"layers.*.self_attn.k_proj=kv_replicated", "layers.*.self_attn.v_proj=kv_replicated"};
  EXPECT_EQ(verdict({.model = {.kv_heads = 2}, .tp_size = 4, .overrides = kv}), "accepted");
  EXPECT_EQ(verdict({.model = {.kv_heads = 2}, .tp_size = 8, .overrides = kv}), "accepted");
  EXPECT_EQ(verdict({.model = {.kv_heads = 4}, .tp_size = 2, .overrides = kv}), "accepted");  // the same as colwise
  EXPECT_EQ(
      verdict({.model = {.heads = 12, .kv_heads = 3}, .tp_size = 4, .overrides = kv}),
      "--override layers.*.self_attn.k_proj=kv_replicated: layers.*.self_attn.k_proj: `kv_replicated` needs a number of "
      "chips that is a multiple of the 3 KV heads, not 4\n"
      "  fix: set q_proj, k_proj, v_proj and o_proj to `replicated`, or write `uneven: allow` in the plan\n"
      "tprun: error: --override layers.*.self_attn.v_proj=kv_replicated: layers.*.self_attn.v_proj: `kv_replicated` needs a "
      "number of chips that is a multiple of the 3 KV heads, not 4\n"
      "  fix: set q_proj, k_proj, v_proj and o_proj to `replicated`, or write `uneven: allow` in the plan");
  EXPECT_EQ(verdict({.model = {.kv_heads = 2}, .tp_size = 16, .overrides = kv}),
            "plans/llama.yaml:4:3: layers.*.self_attn.q_proj: 8 heads cannot be split over 16 chips\n"
            "  fix: set q_proj, k_proj, v_proj and o_proj to `replicated`, or write `uneven: allow` in the plan");
  EXPECT_EQ(verdict({.model = {.kv_heads = 2}, .tp_size = 4, .overrides = {kv[0]}}),
            "plans/llama.yaml:6:3: layers.*.self_attn.v_proj: 2 KV heads cannot be split over 4 chips\n"
            "  fix: set q_proj, k_proj, v_proj and o_proj to `replicated`, or k_proj and v_proj to `kv_replicated`");
}

TEST(PlanCheck, RefusesHalfReplicatedAttention) {
  EXPECT_EQ(verdict({.overrides = {"layers.*.self_attn.k_proj=replicated", "layers.*.self_attn.v_proj=replicated"}}),
            "--override layers.*.self_attn.k_proj=replicated: layers.*.self_attn.k_proj: half of attention is split: q_proj by "
            "heads, while k_proj and v_proj are whole on every chip\n"
            "  fix: set q_proj, k_proj and v_proj to `colwise` and o_proj to `rowwise`, or all of them to `replicated`");
  EXPECT_EQ(verdict({.model = {.kv_heads = 2},
                     .tp_size = 4,
                     .overrides = {"layers.*.self_attn.k_proj=replicated", "layers.*.self_attn.v_proj=replicated"}}),
            "--override layers.*.self_attn.k_proj=replicated: layers.*.self_attn.k_proj: half of attention is split: q_proj by "
            "heads, while k_proj and v_proj are whole on every chip\n"
            "  fix: set q_proj to `colwise`, k_proj and v_proj to `kv_replicated` and o_proj to `rowwise`, or all of them to "
            "`replicated`");
  EXPECT_EQ(
      verdict({.overrides = {"layers.*.self_attn.q_proj=colwise_gather_output"}}),
      "--override layers.*.self_attn.q_proj=colwise_gather_output: layers.*.self_attn.q_proj: half of attention is split: "
      "k_proj and v_proj by heads, while q_proj is whole on every chip\n"
      "  fix: set q_proj, k_proj and v_proj to `colwise` and o_proj to `rowwise`, or all of them to `replicated`");
}

TEST(PlanCheck, GatheredProjectionsWithASplitInputAreRight) {
  const std::vector<std::string> gathered = {
      "layers.*.self_attn.q_proj=colwise_gather_output", "layers.*.self_attn.k_proj=colwise_gather_output",
      "layers.*.self_attn.v_proj=colwise_gather_output", "layers.*.self_attn.o_proj=rowwise_split_input"};
  EXPECT_EQ(verdict({.model = {.heads = 9, .kv_heads = 3}, .tp_size = 2, .overrides = gathered}), "accepted");
}

TEST(PlanCheck, FollowsTheLayoutIntoTheOutputProjection) {
  const std::string o = "layers.*.self_attn.o_proj";
  EXPECT_EQ(verdict({.overrides = {o + "=replicated"}}),
            "--override " + o + "=replicated: " + o +
                ": its input is split by heads, which `replicated` does not take\n"
                "  fix: set o_proj to `rowwise`, or q_proj, k_proj and v_proj to `replicated`");
  EXPECT_EQ(verdict({.overrides = {o + "=rowwise_split_input"}}),
            "--override " + o + "=rowwise_split_input: " + o +
                ": its input is split by heads, which `rowwise_split_input` does not take\n"
                "  fix: set o_proj to `rowwise`, or q_proj, k_proj and v_proj to `replicated`");
  EXPECT_EQ(
      verdict({.overrides = {"layers.*.self_attn.q_proj=replicated", "layers.*.self_attn.k_proj=replicated",
                             "layers.*.self_attn.v_proj=replicated"}}),
      "plans/llama.yaml:7:3: " + o +
          ": `rowwise` takes an input that is split by heads, but q_proj, k_proj and v_proj leave it whole on every chip\n"
          "  fix: set o_proj to `replicated` or `rowwise_split_input`, or q_proj, k_proj and v_proj to `colwise` and o_proj "
          "to `rowwise`");
  EXPECT_EQ(verdict({.overrides = {"layers.*.self_attn.q_proj=replicated", "layers.*.self_attn.k_proj=replicated",
                                   "layers.*.self_attn.v_proj=replicated", o + "=colwise"}}),
            "--override " + o + "=colwise: " + o +
                ": `colwise` leaves its output split, but the residual stream is whole on every chip\n"
                "  fix: set o_proj to `replicated` or `rowwise_split_input`");
  EXPECT_EQ(
      verdict({.overrides = {"layers.*.self_attn.q_proj=rowwise"}}),
      "--override layers.*.self_attn.q_proj=rowwise: layers.*.self_attn.q_proj: `rowwise` takes the features of its chip, "
      "but the residual stream is whole on every chip\n"
      "  fix: set q_proj, k_proj and v_proj to `colwise` and o_proj to `rowwise`, or all of them to `replicated`");
}

TEST(PlanCheck, FollowsTheLayoutThroughTheMlp) {
  const std::string down = "layers.*.mlp.down_proj";
  EXPECT_EQ(verdict({.overrides = {down + "=colwise"}}),
            "--override " + down + "=colwise: " + down +
                ": its input is split by features, which `colwise` does not take\n"
                "  fix: set down_proj to `rowwise`, or gate_proj and up_proj to `replicated`");
  EXPECT_EQ(verdict({.overrides = {down + "=replicated"}}),
            "--override " + down + "=replicated: " + down +
                ": its input is split by features, which `replicated` does not take\n"
                "  fix: set down_proj to `rowwise`, or gate_proj and up_proj to `replicated`");
  EXPECT_EQ(verdict({.overrides = {"layers.*.mlp.gate_proj=replicated"}}),
            "--override layers.*.mlp.gate_proj=replicated: layers.*.mlp.gate_proj: half of the MLP is split: up_proj by "
            "features, while gate_proj is whole on every chip\n"
            "  fix: set gate_proj and up_proj to `colwise` and down_proj to `rowwise`, or all of them to `replicated`");
  EXPECT_EQ(verdict({.overrides = {"layers.*.mlp.*=replicated"}}), "accepted");
  EXPECT_EQ(verdict({.overrides = {"layers.*.mlp.gate_proj=replicated", "layers.*.mlp.up_proj=colwise_gather_output",
                                   down + "=colwise_gather_output"}}),
            "accepted");
}

TEST(PlanCheck, RefusesColwiseOnAFusedWeight) {
  const ToyModel phi3 = {.fused_qkv = true, .fused_gate_up = true};
  EXPECT_EQ(
      verdict({.family = "phi3",
               .model = phi3,
               .overrides = {"layers.*.mlp.gate_up_proj=colwise", "layers.*.mlp.down_proj=rowwise",
                             "layers.*.self_attn.qkv_proj=colwise", "layers.*.self_attn.o_proj=rowwise"}}),
      "--override layers.*.self_attn.qkv_proj=colwise: layers.*.self_attn.qkv_proj: `colwise` would cut through the parts "
      "of this fused weight and give wrong numbers\n"
      "  fix: use `packed_colwise`\n"
      "tprun: error: --override layers.*.mlp.gate_up_proj=colwise: layers.*.mlp.gate_up_proj: `colwise` would cut through "
      "the parts of this fused weight and give wrong numbers\n"
      "  fix: use `packed_colwise`");
  EXPECT_EQ(verdict({.family = "phi3",
                     .model = phi3,
                     .tp_size = 4,
                     .overrides = {"layers.*.mlp.gate_up_proj=packed_colwise", "layers.*.mlp.down_proj=rowwise",
                                   "layers.*.self_attn.qkv_proj=packed_colwise", "layers.*.self_attn.o_proj=rowwise"}}),
            "accepted");
  EXPECT_EQ(verdict({.family = "phi3", .model = phi3, .overrides = {"layers.*.mlp.gate_up_proj=packed_colwise"}}),
            "plans/phi3.yaml:7:3: layers.*.mlp.down_proj: its input is split by features, which `rowwise_split_input` does not "
            "take\n  fix: set down_proj to `rowwise`, or gate_up_proj to `replicated`");
}

TEST(PlanCheck, FusedQkvWithFewKvHeads) {
  const ToyModel phi3 = {.kv_heads = 2, .fused_qkv = true, .fused_gate_up = true};
  EXPECT_EQ(
      verdict({.family = "phi3",
               .model = phi3,
               .tp_size = 4,
               .overrides = {"layers.*.self_attn.qkv_proj=packed_colwise", "layers.*.self_attn.o_proj=rowwise"}}),
      "--override layers.*.self_attn.qkv_proj=packed_colwise: layers.*.self_attn.qkv_proj: 2 KV heads cannot be split over "
      "4 chips\n  fix: set qkv_proj and o_proj to `replicated`, or qkv_proj to `kv_replicated`");
  EXPECT_EQ(verdict({.family = "phi3",
                     .model = phi3,
                     .tp_size = 4,
                     .overrides = {"layers.*.self_attn.qkv_proj=kv_replicated", "layers.*.self_attn.o_proj=rowwise"}}),
            "accepted");
}

TEST(PlanCheck, RefusesSplitProjectionsBelowAFullNorm) {
  EXPECT_EQ(
      verdict({.family = "olmo2",
               .model = {.full_qk_norm = true},
               .overrides = {"layers.*.self_attn.q_proj=colwise", "layers.*.self_attn.k_proj=colwise",
                             "layers.*.self_attn.v_proj=colwise", "layers.*.self_attn.o_proj=rowwise"}}),
      "--override layers.*.self_attn.q_proj=colwise: layers.*.self_attn.q_proj: q_norm spans the whole projection, which is "
      "split by heads over the chips\n"
      "  fix: set q_proj, k_proj and v_proj to `colwise_gather_output` and o_proj to `rowwise_split_input`\n"
      "tprun: error: --override layers.*.self_attn.k_proj=colwise: layers.*.self_attn.k_proj: k_norm spans the whole "
      "projection, which is split by heads over the chips\n"
      "  fix: set q_proj, k_proj and v_proj to `colwise_gather_output` and o_proj to `rowwise_split_input`");
}

TEST(PlanCheck, RefusesStylesThatDoNotFitTheModule) {
  EXPECT_EQ(
      verdict({.overrides = {"layers.*.input_layernorm=colwise"}}),
      "--override layers.*.input_layernorm=colwise: layers.*.input_layernorm: `colwise` cannot cut a norm, which needs all "
      "its features\n  fix: remove the rule");
  EXPECT_EQ(verdict({.overrides = {"norm=rowwise"}}),
            "--override norm=rowwise: norm: `rowwise` cannot cut a norm, which needs all its features\n  fix: remove the rule");
  EXPECT_EQ(verdict({.overrides = {"embed_tokens=colwise"}}),
            "--override embed_tokens=colwise: embed_tokens: `colwise` is not for an embedding\n"
            "  fix: use `embedding_rowwise`, `embedding_colwise` or `replicated`");
  EXPECT_EQ(verdict({.overrides = {"layers.*.mlp.up_proj=embedding_rowwise"}}),
            "--override layers.*.mlp.up_proj=embedding_rowwise: layers.*.mlp.up_proj: `embedding_rowwise` is for an embedding, "
            "this is a linear layer\n  fix: use `colwise` or `colwise_gather_output`");
  EXPECT_EQ(
      verdict({.overrides = {"layers.*.mlp.up_proj=packed_colwise"}}),
      "--override layers.*.mlp.up_proj=packed_colwise: layers.*.mlp.up_proj: `packed_colwise` is for a fused weight, this "
      "one has no parts\n  fix: use `colwise`");
  EXPECT_EQ(
      verdict({.overrides = {"layers.*.mlp.up_proj=kv_replicated"}}),
      "--override layers.*.mlp.up_proj=kv_replicated: layers.*.mlp.up_proj: `kv_replicated` is for the projections of keys "
      "and values\n  fix: use `colwise`");
  EXPECT_EQ(verdict({.overrides = {"layers.*.mlp.up_proj=moe_tp_experts"}}),
            "--override layers.*.mlp.up_proj=moe_tp_experts: layers.*.mlp.up_proj: `moe_tp_experts` is for the experts of a "
            "mixture of experts\n  fix: remove the rule");
}

TEST(PlanCheck, EmbeddingAndHead) {
  EXPECT_EQ(verdict({.overrides = {"embed_tokens=embedding_colwise"}}), "accepted");
  EXPECT_EQ(verdict({.overrides = {"embed_tokens=replicated", "lm_head=replicated"}}), "accepted");
  EXPECT_EQ(verdict({.overrides = {"lm_head=colwise"}}),
            "--override lm_head=colwise: lm_head: `colwise` leaves each chip with its part of the logits alone\n"
            "  fix: set lm_head to `colwise_gather_output`, or to `replicated`");
  EXPECT_EQ(
      verdict({.overrides = {"lm_head=rowwise"}}),
      "--override lm_head=rowwise: lm_head: `rowwise` takes the features of its chip, but the last norm leaves all on every "
      "chip\n  fix: set lm_head to `colwise_gather_output`, or to `replicated`");
}

TEST(PlanCheck, TiedWeightsInAllFourCases) {
  const std::string rule = "plans/llama.yaml:11:3: lm_head: ";
  EXPECT_EQ(verdict({.tie_word_embeddings = false, .lm_head_stored = true}), "accepted");
  EXPECT_EQ(verdict({.tie_word_embeddings = false, .lm_head_stored = false}),
            rule +
                "the checkpoint has no tensor for it, and config.json says `tie_word_embeddings: false`\n"
                "  fix: set `tie_word_embeddings: true` in config.json if the head shares the weight of embed_tokens");
  EXPECT_EQ(verdict({.tie_word_embeddings = true, .lm_head_stored = false}),
            rule +
                "it is tied to embed_tokens and cannot be split over 2 chips without saying how\n"
                "  fix: write `tied_weights: untie` (a copy for each) or `tied_weights: vocab_parallel` (one tensor, split by "
                "vocabulary) in the plan, or say it with `--tied`");
  EXPECT_EQ(verdict({.tie_word_embeddings = true, .lm_head_stored = true}),
            rule +
                "config.json says it is tied to embed_tokens, but the checkpoint has a tensor of its own for it\n"
                "  fix: write `tied_weights: untie` in the plan, or say `--tied untie`, to use the stored tensor");
}

TEST(PlanCheck, TiedWeightsByChoice) {
  EXPECT_EQ(verdict({.tied = TiedWeights::kUntie, .tie_word_embeddings = true, .lm_head_stored = false}), "accepted");
  EXPECT_EQ(verdict({.tied = TiedWeights::kUntie, .tie_word_embeddings = true, .lm_head_stored = true}), "accepted");
  EXPECT_EQ(verdict({.tied = TiedWeights::kVocabParallel, .tie_word_embeddings = true, .lm_head_stored = false}), "accepted");
  EXPECT_EQ(
      verdict({.overrides = {"embed_tokens=replicated"},
               .tied = TiedWeights::kVocabParallel,
               .tie_word_embeddings = true,
               .lm_head_stored = false}),
      "plans/llama.yaml:11:3: lm_head: `vocab_parallel` splits one tensor by vocabulary for both embed_tokens and lm_head\n"
      "  fix: set embed_tokens to `embedding_rowwise` and lm_head to `colwise_gather_output`, or write `tied_weights: "
      "untie`");
  EXPECT_EQ(verdict({.tp_size = 1, .tie_word_embeddings = true, .lm_head_stored = false}), "accepted");
}

TEST(PlanCheck, OneChipTakesWhateverTheModulesCanHave) {
  EXPECT_EQ(
      verdict({.model = {.heads = 9, .kv_heads = 3}, .tp_size = 1, .overrides = {"layers.*.self_attn.k_proj=replicated"}}),
      "accepted");
  EXPECT_EQ(verdict({.tp_size = 1, .overrides = {"norm=colwise"}}),
            "--override norm=colwise: norm: `colwise` cannot cut a norm, which needs all its features\n  fix: remove the rule");
}

TEST(PlanCheck, ReportsSomeLayersByNumber) {
  EXPECT_EQ(verdict({.model = {.layers = 6}, .overrides = {"layers.3.mlp.down_proj=replicated"}}),
            "--override layers.3.mlp.down_proj=replicated: layers.3.mlp.down_proj: its input is split by features, which "
            "`replicated` does not take\n"
            "  fix: set down_proj to `rowwise`, or gate_proj and up_proj to `replicated`");
  EXPECT_EQ(
      verdict({.model = {.layers = 6},
               .overrides = {"layers.*.mlp.*=replicated", "layers.0.mlp.down_proj=rowwise", "layers.1.mlp.*=replicated"}}),
      "--override layers.0.mlp.down_proj=rowwise: layers.0.mlp.down_proj: `rowwise` takes an input that is split by "
      "features, but gate_proj and up_proj leave it whole on every chip\n"
      "  fix: set down_proj to `replicated` or `rowwise_split_input`, or gate_proj and up_proj to `colwise` and down_proj to "
      "`rowwise`");
  EXPECT_EQ(verdict({.model = {.layers = 6, .kv_heads = 2},
                     .tp_size = 4,
                     .overrides = {"layers.0.self_attn.*=replicated", "layers.4.self_attn.*=replicated"}}),
            "plans/llama.yaml:5:3: layers.[1-3,5].self_attn.k_proj: 2 KV heads cannot be split over 4 chips\n"
            "  fix: set q_proj, k_proj, v_proj and o_proj to `replicated`, or k_proj and v_proj to `kv_replicated`");
}

TEST(PlanCheck, ReportsAllProblemsAtOnce) {
  const std::string text = verdict({.model = {.kv_heads = 2},
                                    .tp_size = 4,
                                    .overrides = {"lm_head=colwise", "norm=colwise", "layers.1.mlp.up_proj=replicated"},
                                    .tie_word_embeddings = true,
                                    .lm_head_stored = false});
  for (const char* part : {"norm: `colwise` cannot", "lm_head: `colwise` leaves", "lm_head: it is tied", "2 KV heads cannot",
                           "layers.1.mlp.up_proj: half of the MLP"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(part));
  }
}

}  // namespace
}  // namespace tp
