// Options that one family has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharding/parameters.h"
#include "tests/sharding/made_config.h"

namespace tp {
namespace {

// Which layers are mixtures of experts: "x" is one.
std::string sparse_layers(const ModelConfig& config) {
  std::string layers;
  for (const LayerConfig& layer : config.layers) layers += layer.moe ? 'x' : '-';
  return layers;
}

const ModuleSpec& module_of(const std::vector<ModuleSpec>& modules, Role role) {
  return *std::ranges::find(modules, role, &ModuleSpec::role);
}

TEST(FamilyOptions, ErnieHasExpertsInAnIntervalOfLayers) {
  const std::string sizes = R"("num_hidden_layers": 6, "moe_num_experts": 4, "moe_k": 2)";
  EXPECT_EQ(sparse_layers(config_of("ernie4_5_moe", "{" + sizes + "}")), "-xxxxx");
  EXPECT_EQ(sparse_layers(config_of("ernie4_5_moe", "{" + sizes + R"(, "moe_layer_interval": 2})")), "-x-x-x");
  EXPECT_EQ(
      sparse_layers(config_of("ernie4_5_moe", "{" + sizes + R"(, "moe_layer_start_index": 2, "moe_layer_end_index": 3})")),
      "--xx--");
  EXPECT_EQ(config_of("ernie4_5_moe", "{" + sizes + R"(, "moe_num_shared_experts": 0})").moe->shared_intermediate_size, 0);
  EXPECT_EQ(config_of("ernie4_5_moe", "{" + sizes + "}").moe->shared_intermediate_size, 2 * 1536);
}

TEST(FamilyOptions, ErnieStoresItsCorrectionBiasAsARowUnderAnotherName) {
  const ModuleSpec bias =
      module_of(module_tree(config_of("ernie4_5_moe", R"({"moe_num_experts": 4, "moe_k": 2})")), Role::kCorrectionBias);
  EXPECT_EQ(bias.name, "model.layers.1.mlp.gate.moe_statics.e_score_correction_bias");
  EXPECT_EQ(bias.stored_name, "model.layers.1.mlp.moe_statics.e_score_correction_bias");
  EXPECT_EQ(bias.weight_shape, (std::vector<int64_t>{1, 4}));
}

TEST(FamilyOptions, ExaoneHasOlderNames) {
  const ModelConfig config = parse_model_config(
      R"({"model_type": "exaone", "vocab_size": 32, "hidden_size": 64, "intermediate_size": 96, "num_layers": 2,
          "num_attention_heads": 8, "num_key_value_heads": 4, "layer_norm_epsilon": 1e-4, "activation_function": "gelu",
          "attention_bias": true})",
      "config.json");
  EXPECT_EQ(config.num_layers(), 2);
  EXPECT_EQ(config.norm_eps, 1e-4);
  EXPECT_EQ(config.activation, Activation::kGelu);
  const std::vector<ModuleSpec> modules = module_tree(config);
  EXPECT_EQ(module_of(modules, Role::kEmbedding).stored_name, "transformer.wte.weight");
  EXPECT_EQ(module_of(modules, Role::kO).stored_name, "transformer.h.0.attn.attention.out_proj.weight");
  EXPECT_EQ(module_of(modules, Role::kO).stored_bias, "transformer.h.0.attn.attention.out_proj.bias");
  EXPECT_EQ(module_of(modules, Role::kUp).stored_name, "transformer.h.0.mlp.c_fc_1.weight");
  EXPECT_EQ(module_of(modules, Role::kFinalNorm).stored_name, "transformer.ln_f.weight");
  EXPECT_EQ(module_of(modules, Role::kLmHead).stored_name, "");
}

TEST(FamilyOptions, GptNeoxHasItsOwnNamesBesideTheRope) {
  const RopeConfig rope = config_of("gpt_neox", R"({"rotary_pct": 0.5, "rotary_emb_base": 500})").ropes.at(0);
  EXPECT_EQ(rope.rotary_dim, 4);
  EXPECT_EQ(rope.theta, 500.0);
  EXPECT_EQ(config_of("gpt_neox", R"({"rope_parameters": {"partial_rotary_factor": 1.0}})").ropes.at(0).rotary_dim, 8);
  EXPECT_EQ(refusal("gpt_neox", R"({"partial_rotary_factor": 0.25, "rope_theta": 10000})"), "accepted");
  EXPECT_EQ(config_of("gpt_neox", R"({"num_key_value_heads": 3})").num_kv_heads, 8);
  EXPECT_EQ(refusal("gpt_neox", R"({"partial_rotary_factor": 0.5, "rope_theta": 500})"),
            "config.json: `partial_rotary_factor` is not read beside the rope of this model_type; write `rotary_pct`\n"
            "  `rope_theta` is not read beside the rope of this model_type; write `rotary_emb_base`");
}

TEST(FamilyOptions, HunyuanMaySayANumberForEveryLayer) {
  EXPECT_EQ(config_of("hunyuan_v1_moe", R"({"num_experts": 4, "moe_topk": [2, 2, 2, 2]})").moe->top_k, 2);
  EXPECT_EQ(refusal("hunyuan_v1_moe", R"({"num_experts": 4, "moe_topk": [2, 1, 2, 2]})"),
            "config.json: `moe_topk` differs between layers, which is not supported");
}

TEST(FamilyOptions, MinimaxMaySayItsRotatedFeatures) {
  const std::string experts = R"("num_local_experts": 4, "num_experts_per_tok": 2)";
  EXPECT_EQ(config_of("minimax_m2", "{" + experts + R"(, "rotary_dim": 64})").ropes.at(0).rotary_dim, 64);
  EXPECT_EQ(config_of("minimax_m2", "{" + experts + "}").ropes.at(0).rotary_dim, 128);
}

TEST(FamilyOptions, MinistralScalesQueriesWithTheirPosition) {
  const ModelConfig config = config_of("ministral3");
  ASSERT_EQ(config.ropes.size(), 2U);
  EXPECT_EQ(config.layers.at(0).rope, 0);
  EXPECT_EQ(config.layers.at(0).query_rope, 1);
  EXPECT_EQ(config.ropes.at(0).position_beta, 0.0);
  EXPECT_EQ(config.ropes.at(1).position_beta, 0.1);
  EXPECT_EQ(config.ropes.at(1).original_max_position, 16384);
  EXPECT_EQ(refusal("ministral3", R"({"rope_parameters": {"rope_type": "default", "llama_4_scaling_beta": 0.1}})"),
            "config.json: `rope_parameters.original_max_position_embeddings` is missing, which `llama_4_scaling_beta` needs");
}

TEST(FamilyOptions, NanochatNormalizesTheEmbeddingAndTurnsTheOtherWay) {
  const ModelConfig config = config_of("nanochat");
  EXPECT_TRUE(config.embedding_norm);
  EXPECT_TRUE(config.ropes.at(0).reversed);
  EXPECT_FALSE(module_of(module_tree(config), Role::kQNorm).has_weight);
  EXPECT_EQ(config.logits_softcap, 15.0);
}

}  // namespace
}  // namespace tp
