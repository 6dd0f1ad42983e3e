#include "sharding/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/sharding/made_config.h"

namespace tp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<int64_t> windows(const ModelConfig& config) {
  std::vector<int64_t> result;
  for (const LayerConfig& layer : config.layers) result.push_back(layer.window);
  return result;
}

std::vector<int> ropes(const ModelConfig& config) {
  std::vector<int> result;
  for (const LayerConfig& layer : config.layers) result.push_back(layer.rope);
  return result;
}

TEST(ModelConfig, TakesDefaultsOfTheConfigurationClass) {
  const ModelConfig llama = config_of("llama", R"({"num_key_value_heads": null})");
  EXPECT_EQ(llama.num_kv_heads, 8);
  EXPECT_EQ(llama.head_dim, 8);
  EXPECT_EQ(llama.max_position_embeddings, 2048);
  EXPECT_EQ(llama.norm_eps, 1e-6);
  EXPECT_EQ(llama.ropes.at(0).theta, 10000.0);
  EXPECT_EQ(llama.ropes.at(0).rotary_dim, 8);
  EXPECT_THAT(llama.eos_token_ids, ElementsAre(2));
  EXPECT_FALSE(llama.tie_word_embeddings);
  EXPECT_FALSE(llama.dtype.has_value());
  EXPECT_THAT(llama.warnings, IsEmpty());
  EXPECT_EQ(config_of("qwen3").head_dim, 128);
  EXPECT_EQ(config_of("mistral").layers.at(0).window, 4096);
  EXPECT_THAT(config_of("glm4", R"({"eos_token_id": null})").eos_token_ids, IsEmpty());
}

TEST(ModelConfig, TakesBothSpellingsOfTokensAndDtype) {
  EXPECT_EQ(config_of("llama", R"({"torch_dtype": "bfloat16"})").dtype, DType::kBF16);
  EXPECT_EQ(config_of("llama", R"({"torch_dtype": "bfloat16", "dtype": "float16"})").dtype, DType::kF16);
  EXPECT_THAT(config_of("llama", R"({"eos_token_id": [7, 9]})").eos_token_ids, ElementsAre(7, 9));
  EXPECT_EQ(config_of("llama", R"({"pad_token_id": -1})").pad_token_id, std::nullopt);
}

TEST(ModelConfig, BiasesFollowTheFamily) {
  const ModelConfig qwen2 = config_of("qwen2");
  EXPECT_TRUE(qwen2.q_bias && qwen2.k_bias && qwen2.v_bias);
  EXPECT_FALSE(qwen2.o_bias);
  const ModelConfig llama = config_of("llama", R"({"attention_bias": true, "mlp_bias": true})");
  EXPECT_TRUE(llama.q_bias && llama.o_bias && llama.gate_up_bias && llama.down_bias);
  const ModelConfig glm4 = config_of("glm4");
  EXPECT_TRUE(glm4.q_bias);
  EXPECT_FALSE(glm4.o_bias);
}

TEST(ModelConfig, ReadsRopeInEverySpelling) {
  const RopeConfig current =
      config_of("llama",
                R"({"rope_parameters": {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
                 "high_freq_factor": 4.0, "original_max_position_embeddings": 32}})")
          .ropes.at(0);
  EXPECT_EQ(current.type, RopeType::kLlama3);
  EXPECT_EQ(current.theta, 500.0);
  EXPECT_EQ(current.factor, 8.0);
  EXPECT_EQ(current.original_max_position, 32);
  const RopeConfig older =
      config_of("llama", R"({"rope_theta": 500, "rope_scaling": {"type": "linear", "factor": 2}})").ropes.at(0);
  EXPECT_EQ(older.type, RopeType::kLinear);
  EXPECT_EQ(older.theta, 500.0);
  EXPECT_EQ(older.factor, 2.0);
  const RopeConfig both = config_of("llama", R"({"rope_scaling": {"rope_type": "dynamic", "type": "linear", "factor": 4.0},
                                                 "rope_parameters": {"rope_type": "default", "rope_theta": 7.0}})")
                              .ropes.at(0);
  EXPECT_EQ(both.type, RopeType::kDynamic);  // rope_scaling wins as a whole
  EXPECT_EQ(both.theta, 10000.0);
  EXPECT_EQ(config_of("llama", R"({"rope_scaling": null, "rope_theta": 3.0})").ropes.at(0).theta, 3.0);
}

TEST(ModelConfig, ReadsYarnWithItsOptions) {
  const RopeConfig yarn =
      config_of("qwen3", R"({"max_position_embeddings": 128, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                 "original_max_position_embeddings": 32, "beta_fast": 0, "truncate": false, "mscale": 0.707, "mscale_all_dim": 0}})")
          .ropes.at(0);
  EXPECT_EQ(yarn.type, RopeType::kYarn);
  EXPECT_EQ(yarn.beta_fast, 32.0);
  EXPECT_FALSE(yarn.truncate);
  EXPECT_EQ(yarn.mscale, 0.707);
  EXPECT_EQ(yarn.mscale_all_dim, std::nullopt);
  const RopeConfig from_lengths = config_of("qwen3", R"({"max_position_embeddings": 128, "original_max_position_embeddings": 64,
                 "rope_scaling": {"rope_type": "yarn", "factor": null, "original_max_position_embeddings": 32}})")
                                      .ropes.at(0);
  EXPECT_EQ(from_lengths.original_max_position, 64);  // the key beside the rope object wins
  EXPECT_EQ(from_lengths.factor, 2.0);
}

TEST(ModelConfig, RefusesRopesThatAreNotUnderstood) {
  EXPECT_EQ(
      refusal("llama", R"({"rope_scaling": {"rope_type": "ntk", "factor": 2.0}})"),
      "config.json: `rope_scaling.rope_type` is \"ntk\", a scaling that is not supported (default, dynamic, linear, llama3, "
      "longrope, yarn)");
  EXPECT_EQ(refusal("llama", R"({"rope_scaling": {"rope_type": "linear"}})"), "config.json: `rope_scaling.factor` is missing");
  EXPECT_EQ(refusal("llama", R"({"rope_scaling": {"rope_type": "linear", "factor": 2.0, "alpha": 3}})"),
            "config.json: `rope_scaling.alpha` is not supported");
  EXPECT_EQ(refusal("llama", R"({"partial_rotary_factor": 0.5})"),
            "config.json: `partial_rotary_factor` is not supported for this model_type");
  EXPECT_EQ(refusal("llama", R"({"head_dim": 7})"),
            "config.json: `head_dim` gives 7 rotated features per head; it must be an even number");
  EXPECT_EQ(refusal("phi3", R"({"rope_scaling": {"type": "su", "short_factor": [1, 1], "long_factor": [1, 1, 1, 1]}})"),
            "config.json: `rope_scaling.short_factor` has 2 numbers, not rotary_dim / 2 = 4");
}

TEST(ModelConfig, LongRopeTakesItsOldNameAndLengths) {
  const RopeConfig rope = config_of("phi3", R"({"max_position_embeddings": 8192, "rope_scaling": {"type": "su",
                                                "short_factor": [1, 1, 1, 1], "long_factor": [2, 2, 2, 2]}})")
                              .ropes.at(0);
  EXPECT_EQ(rope.type, RopeType::kLongRope);
  EXPECT_EQ(rope.original_max_position, 4096);
  EXPECT_EQ(rope.factor, 2.0);
}

TEST(ModelConfig, WindowsFollowEachFamilysRule) {
  EXPECT_THAT(windows(config_of("mistral", R"({"sliding_window": 8})")), ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(windows(config_of("mistral", R"({"sliding_window": null})")), ElementsAre(0, 0, 0, 0));
  const std::string qwen = R"({"sliding_window": 8, "max_window_layers": 3, "use_sliding_window": )";
  EXPECT_THAT(windows(config_of("qwen2", qwen + "false}")), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(windows(config_of("qwen2", qwen + "true}")), ElementsAre(0, 0, 0, 8));
  EXPECT_THAT(windows(config_of("qwen3", R"({"sliding_window": 8, "use_sliding_window": true, "layer_types":
              ["sliding_attention", "full_attention", "sliding_attention", "attention"]})")),
              ElementsAre(8, 0, 8, 0));
  EXPECT_THAT(windows(config_of("gemma2", R"({"sliding_window": 8})")), ElementsAre(8, 0, 8, 0));
  EXPECT_THAT(windows(config_of("gemma3_text", R"({"sliding_window": 8, "sliding_window_pattern": 3})")),
              ElementsAre(8, 8, 0, 8));
  EXPECT_THAT(windows(config_of("qwen3_moe", qwen + "true}")), ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(windows(config_of("qwen2_moe", qwen + "true}")), ElementsAre(8, 0, 8, 0));
  EXPECT_THAT(
      windows(config_of("smollm3", R"({"sliding_window": 8, "use_sliding_window": true, "no_rope_layers": [1, 0, 1, 1]})")),
      ElementsAre(0, 8, 0, 0));
}

TEST(ModelConfig, RopesFollowEachFamilysRule) {
  EXPECT_THAT(ropes(config_of("llama")), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(ropes(config_of("smollm3")), ElementsAre(0, 0, 0, -1));
  EXPECT_THAT(ropes(config_of("smollm3", R"({"no_rope_layers": [1, 0, 1, 1]})")), ElementsAre(0, -1, 0, 0));
  EXPECT_THAT(ropes(config_of("cohere2", R"({"sliding_window": 8})")), ElementsAre(0, 0, 0, -1));
  EXPECT_THAT(ropes(config_of("exaone4", R"({"sliding_window": null})")), ElementsAre(0, 0, 0, 0));
  const ModelConfig gemma3 = config_of(
      "gemma3_text", R"({"sliding_window": 8, "sliding_window_pattern": 2, "rope_theta": 5.0, "rope_local_base_freq": 6.0,
                                   "rope_scaling": {"rope_type": "linear", "factor": 8.0}})");
  EXPECT_THAT(ropes(gemma3), ElementsAre(1, 0, 1, 0));
  EXPECT_EQ(gemma3.ropes.at(0).theta, 5.0);
  EXPECT_EQ(gemma3.ropes.at(0).factor, 8.0);
  EXPECT_EQ(gemma3.ropes.at(1).theta, 6.0);
  EXPECT_EQ(gemma3.ropes.at(1).type, RopeType::kDefault);
}

TEST(ModelConfig, RefusesLayerTypesThatDoNotFit) {
  EXPECT_EQ(refusal("qwen2", R"({"layer_types": ["full_attention"]})"),
            "config.json: `layer_types` has 1 entries for 4 layers");
  const std::string sliding = R"(["sliding_attention", "full_attention", "full_attention", "full_attention"]})";
  EXPECT_EQ(refusal("qwen2", R"({"layer_types": )" + sliding),
            "config.json: `layer_types` has sliding_attention, but there is no sliding window");
  EXPECT_EQ(refusal("llama", R"({"layer_types": )" + sliding),
            "config.json: `layer_types` differs from the layers that this model_type has");
  EXPECT_EQ(refusal("qwen2", R"({"layer_types": ["linear_attention", "a", "b", "c"]})"),
            "config.json: `layer_types` has \"linear_attention\", which is not supported (full_attention, sliding_attention)");
}

TEST(ModelConfig, ListsEveryWrongNumberAtOnce) {
  EXPECT_EQ(refusal("llama", R"({"num_hidden_layers": 0, "hidden_size": -3, "vocab_size": "many", "rms_norm_eps": null,
                                 "intermediate_size": 1.5, "attention_bias": 1, "tie_word_embeddings": "no", "head_dim": 8})"),
            "config.json: `vocab_size` is \"many\", not a whole number\n"
            "  `hidden_size` is -3, not between 1 and 1048576\n"
            "  `intermediate_size` is 1.5, not a whole number\n"
            "  `num_hidden_layers` is 0, not between 1 and 4096\n"
            "  `rms_norm_eps` is null\n"
            "  `attention_bias` is 1, not true or false\n"
            "  `tie_word_embeddings` is \"no\", not true or false");
  // A wrong size is not blamed on what it should fit.
  EXPECT_EQ(refusal("llama", R"({"num_attention_heads": 0})"),
            "config.json: `num_attention_heads` is 0, not between 1 and 65536");
  EXPECT_EQ(refusal("qwen3", R"({"num_hidden_layers": 2.5, "layer_types": ["full_attention", "full_attention"]})"),
            "config.json: `num_hidden_layers` is 2.5, not a whole number");
  EXPECT_EQ(refusal("llama", R"({"num_attention_heads": 6, "head_dim": 8})"),
            "config.json: `num_attention_heads` is 6, not a multiple of num_key_value_heads = 4");
  EXPECT_EQ(refusal("llama", R"({"hidden_size": 60, "num_key_value_heads": 8})"),
            "config.json: `hidden_size` is 60, not a multiple of num_attention_heads = 8, and there is no head_dim\n"
            "  `head_dim` gives 7 rotated features per head; it must be an even number");
  EXPECT_EQ(refusal("llama", R"({"num_hidden_layers": 18446744073709551615})"),
            "config.json: `num_hidden_layers` is 18446744073709551615, not between 1 and 4096");
  EXPECT_EQ(refusal("llama", R"({"hidden_act": "mish"})"),
            "config.json: `hidden_act` is \"mish\", an activation that is not supported");
}

TEST(ModelConfig, RefusesKeysOfOtherFamiliesUnlessTheyDoNothing) {
  EXPECT_EQ(refusal("llama", R"({"attention_multiplier": 0.5, "logit_scale": 0.1, "use_qk_norm": true, "sliding_window": 8})"),
            "config.json: `attention_multiplier` is not supported for this model_type\n"
            "  `logit_scale` is not supported for this model_type\n"
            "  `sliding_window` is not supported for this model_type\n"
            "  `use_qk_norm` is not supported for this model_type");
  EXPECT_THAT(
      config_of("llama", R"({"logit_scale": 1, "use_qk_norm": false, "sliding_window": null, "partial_rotary_factor": 1.0,
                                     "initializer_range": 0.02, "use_cache": true, "pretraining_tp": 1})")
          .warnings,
      IsEmpty());
  EXPECT_EQ(refusal("deepseek_v2", R"({"num_key_value_heads": 8, "num_experts_per_tok": 2, "norm_topk_prob": true})"),
            "config.json: `norm_topk_prob` is true; only false is supported");
}

TEST(ModelConfig, WarnsOfWhatItPassesOver) {
  EXPECT_THAT(config_of("llama", R"({"made_up": 1, "pretraining_tp": 2})").warnings,
              ElementsAre("config.json: `made_up` is not known and is ignored",
                          "config.json: `pretraining_tp` is ignored: it changes the order of sums, not the model"));
}

TEST(ModelConfig, ReadsWhichLayersAreMixturesOfExperts) {
  const auto sparse = [](const std::string& more) {
    std::string layers;
    for (const LayerConfig& layer : config_of("mellum", more).layers) layers += layer.moe ? 'x' : '-';
    return layers;
  };
  EXPECT_EQ(sparse(R"({"num_hidden_layers": 3})"), "xxx");
  EXPECT_EQ(sparse(R"({"num_hidden_layers": 3, "mlp_layer_types": ["dense", "sparse", "dense"]})"), "-x-");
  EXPECT_EQ(refusal("mellum", R"({"num_hidden_layers": 1, "mlp_layer_types": ["sparse", "loose"]})"),
            "config.json: `mlp_layer_types` has 2 entries for 1 layers");
  EXPECT_EQ(refusal("mellum", R"({"num_hidden_layers": 1, "mlp_layer_types": ["loose"]})"),
            "config.json: `mlp_layer_types` has \"loose\" (sparse, dense)");
}

TEST(ModelConfig, NormsAfterAttentionAndMlpCanBeSwitchedOff) {
  EXPECT_TRUE(config_of("hyperclovax").post_mlp_norm);
  EXPECT_FALSE(config_of("hyperclovax", R"({"use_post_norm": false})").post_mlp_norm);
  EXPECT_EQ(config_of("gemma3_text", R"({"attn_logit_softcapping": 50.0})").attention_softcap, 0);
}

TEST(ModelConfig, RefusesQuantizedAndUnknownModels) {
  EXPECT_EQ(
      refusal("llama", R"({"quantization_config": {"quant_method": "hqq"}})"),
      "config.json: the checkpoint is quantized (`quantization_config`: hqq), which is not supported\n"
      "  fix: use the checkpoint in bfloat16, or one of compressed-tensors, fp8, gptq or awq as docs/quantization.md has them");
  EXPECT_THAT(refusal("lama", "{}"),
              HasSubstr("config.json: unknown model_type `lama`\n  fix: did you mean `llama`? known ones are "));
  EXPECT_EQ(refusal("mamba2", "{}"), "config.json: model_type `mamba2` is not supported: its layers keep a recurrent state");
  EXPECT_THAT(refusal("llama", R"({"model_type": null})"), HasSubstr("config.json: `model_type` is null"));
}

TEST(ModelConfig, FactorsOfGraniteCohereAndGemma) {
  const ModelConfig granite =
      config_of("granite", R"({"attention_multiplier": 0.2, "embedding_multiplier": 3, "logits_scaling": 4.0,
                                                       "residual_multiplier": 0.6})");
  EXPECT_EQ(granite.attention_scale, 0.2);
  EXPECT_EQ(granite.embedding_scale, 3.0);
  EXPECT_FALSE(granite.embedding_scale_rounded);
  EXPECT_EQ(granite.logits_scale, 0.25);
  EXPECT_EQ(granite.residual_scale, 0.6);
  EXPECT_EQ(config_of("cohere").logits_scale, 0.0625);
  const ModelConfig gemma2 = config_of("gemma2", R"({"query_pre_attn_scalar": 16, "final_logit_softcapping": null})");
  EXPECT_EQ(gemma2.attention_scale, 0.25);
  EXPECT_EQ(gemma2.embedding_scale, 8.0);
  EXPECT_TRUE(gemma2.embedding_scale_rounded);
  EXPECT_EQ(gemma2.attention_softcap, 50.0);
  EXPECT_EQ(gemma2.logits_softcap, 0.0);
  EXPECT_EQ(config_of("gemma", R"({"hidden_act": "gelu"})").activation, Activation::kGeluTanh);
}

TEST(ModelConfig, HunyuanStretchesThetaByAlpha) {
  const ModelConfig model =
      config_of("hunyuan_v1_dense", R"({"rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0,
                                                              "beta_fast": 32, "mscale": 1.0}})");
  EXPECT_EQ(model.ropes.at(0).type, RopeType::kDefault);
  EXPECT_DOUBLE_EQ(model.ropes.at(0).theta, 10000.0 * std::pow(1000.0, 8.0 / 6.0));
  EXPECT_TRUE(model.qk_norm_after_rope);
}

TEST(ModelConfig, ExpertsInBothSpellings) {
  const ModelConfig qwen =
      config_of("qwen3_moe", R"({"num_local_experts": 8, "num_experts_per_tok": 2, "mlp_only_layers": [1]})");
  EXPECT_EQ(qwen.moe->num_experts, 8);
  EXPECT_FALSE(qwen.moe->normalize_top_k);
  EXPECT_FALSE(qwen.layers.at(1).moe);
  EXPECT_TRUE(qwen.layers.at(2).moe);
  EXPECT_EQ(refusal("qwen3_moe", R"({"num_local_experts": 8, "num_experts": 4})"),
            "config.json: `num_local_experts` is 8, but `num_experts` says 4\n"
            "  `num_experts_per_tok` is 8, more than the 4 experts");
  const ModelConfig v3 =
      config_of("deepseek_v3", R"({"num_key_value_heads": 8, "n_routed_experts": 16, "n_group": 4, "topk_group": 2,
    "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096}})");
  EXPECT_EQ(v3.moe->groups, 4);
  EXPECT_EQ(v3.moe->shared_intermediate_size, 2048);
  EXPECT_EQ(v3.head_dim, 192);
  EXPECT_FALSE(v3.layers.at(2).moe);
  EXPECT_TRUE(v3.layers.at(3).moe);
  const double mscale = 0.1 * std::log(40.0) + 1.0;
  EXPECT_DOUBLE_EQ(v3.attention_scale, mscale * mscale / std::sqrt(192.0));
  EXPECT_THAT(refusal("deepseek_v3", R"({"num_key_value_heads": 8, "n_routed_experts": 16, "n_group": 3})"),
              HasSubstr("`n_group` is 3, which does not divide 16 experts"));
}

}  // namespace
}  // namespace tp
