// Options of the families that tie rotation, windows and routers to the layer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sharding/parameters.h"
#include "tests/sharding/made_config.h"

namespace tp {
namespace {

using testing::ElementsAre;

template <class Member>
std::vector<int64_t> by_layer(const ModelConfig& config, Member member) {
  std::vector<int64_t> values;
  for (const LayerConfig& layer : config.layers) values.push_back(layer.*member);
  return values;
}

const std::string kFew = R"("num_experts": 4, "num_experts_per_tok": 2)";

TEST(RoutedOptions, Llama4TurnsInChunksAndStretchesTheOthersQueries) {
  const ModelConfig config = config_of("llama4_text", "{}");
  EXPECT_THAT(by_layer(config, &LayerConfig::window), ElementsAre(8192, 8192, 8192, 0));
  EXPECT_THAT(by_layer(config, &LayerConfig::chunked), ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(by_layer(config, &LayerConfig::rope), ElementsAre(0, 0, 0, -1));
  EXPECT_THAT(by_layer(config, &LayerConfig::query_rope), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(by_layer(config, &LayerConfig::qk_norm), ElementsAre(1, 1, 1, 0));
  EXPECT_TRUE(config.ropes.at(1).still);
  EXPECT_EQ(config.ropes.at(1).position_beta, 0.1);
  EXPECT_EQ(config.ropes.at(1).original_max_position, 8192);
  EXPECT_EQ(config.ropes.at(1).position_offset, 1);
  EXPECT_EQ(config.intermediate_size, 16384);
  EXPECT_EQ(config.moe->intermediate_size, 96);
}

TEST(RoutedOptions, Llama4WithoutChunksTuningOrNorm) {
  const ModelConfig config = config_of("llama4_text", R"({"attention_chunk_size": null, "attn_temperature_tuning": false,
      "use_qk_norm": false, "moe_layers": [1, 3], "no_rope_layers": [0, 1, 0, 1]})");
  EXPECT_THAT(by_layer(config, &LayerConfig::window), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(by_layer(config, &LayerConfig::query_rope), ElementsAre(-1, 0, -1, 0));
  EXPECT_THAT(by_layer(config, &LayerConfig::moe), ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(config.ropes.size(), 1u);
  EXPECT_EQ(config.qk_norm, QkNorm::kNone);
}

TEST(RoutedOptions, LayerTypesOfChunksAreNotThoseOfWindows) {
  const std::string types = R"("layer_types": ["chunked_attention", "full_attention", "full_attention", "full_attention"])";
  EXPECT_THAT(by_layer(config_of("llama4_text", "{" + types + "}"), &LayerConfig::chunked), ElementsAre(1, 0, 0, 0));
  EXPECT_EQ(refusal("qwen2", R"({"use_sliding_window": true, )" + types + "}"),
            "config.json: `layer_types` has \"chunked_attention\", which is not supported (full_attention, sliding_attention)");
}

TEST(RoutedOptions, GraniteHasAThetaForEachLayer) {
  const ModelConfig config = config_of("granite_swa", R"({"layer_rope_theta": [0, 500.0, 10000, 500]})");
  EXPECT_THAT(by_layer(config, &LayerConfig::rope), ElementsAre(-1, 0, 1, 0));
  EXPECT_THAT(by_layer(config, &LayerConfig::query_rope), ElementsAre(-1, 0, 1, 0));
  EXPECT_THAT(by_layer(config, &LayerConfig::window), ElementsAre(0, 128, 128, 128));
  EXPECT_EQ(config.ropes.at(0).theta, 500.0);
  EXPECT_EQ(config.ropes.at(1).theta, 10000.0);
  EXPECT_EQ(refusal("granite_swa", R"({"layer_rope_theta": [0, 1]})"),
            "config.json: `layer_rope_theta` has 2 entries for 4 layers");
}

TEST(RoutedOptions, Cohere2CountsItsDenseLayersApart) {
  const std::string sizes = kFew + R"(, "num_hidden_layers": 6, "first_k_dense_replace": 2)";
  const ModelConfig config = config_of("cohere2_moe", "{" + sizes + R"(, "prefix_dense_intermediate_size": 40})");
  EXPECT_THAT(by_layer(config, &LayerConfig::moe), ElementsAre(0, 0, 1, 1, 1, 1));
  EXPECT_THAT(by_layer(config, &LayerConfig::window), ElementsAre(0, 0, 4096, 4096, 4096, 0));
  EXPECT_THAT(by_layer(config, &LayerConfig::rope), ElementsAre(0, 0, 0, 0, 0, -1));
  EXPECT_EQ(config.intermediate_size, 40);
  EXPECT_EQ(config.norm, NormKind::kLayerNorm);
  const ModelConfig other = config_of("cohere2_moe", "{" + sizes + R"(, "prefix_dense_sliding_window_pattern": 2,
      "rms_norm_eps": 1e-6, "expert_selection_fn": "sigmoid", "num_shared_experts": 2})");
  EXPECT_THAT(by_layer(other, &LayerConfig::window), ElementsAre(4096, 0, 4096, 4096, 4096, 0));
  EXPECT_THAT(by_layer(other, &LayerConfig::rope), ElementsAre(0, -1, 0, 0, 0, -1));
  EXPECT_EQ(other.norm, NormKind::kRms);
  EXPECT_EQ(other.intermediate_size, 96);
  EXPECT_EQ(other.moe->router, RouterKind::kSigmoid);
  EXPECT_EQ(other.moe->shared_intermediate_size, 192);
  EXPECT_TRUE(other.moe->averages_shared);
  EXPECT_EQ(refusal("cohere2_moe", "{" + kFew + R"(, "expert_selection_fn": "tanh"})"),
            "config.json: `expert_selection_fn` is \"tanh\" (softmax, sigmoid)");
  // transformers has the key and does not read it.
  EXPECT_EQ(refusal("cohere2_moe", "{" + kFew + R"(, "rope_scaling": {"rope_type": "linear", "factor": 2.0}})"),
            "config.json: `rope_scaling` is {\"factor\":2.0,\"rope_type\":\"linear\"}; only null is supported");
}

TEST(RoutedOptions, FlintAttendsFullyAtTheEdges) {
  const ModelConfig config = config_of("flint", "{" + kFew + R"(, "num_hidden_layers": 8})");
  EXPECT_THAT(by_layer(config, &LayerConfig::window), ElementsAre(0, 0, 513, 513, 513, 0, 513, 0));
  EXPECT_THAT(by_layer(config, &LayerConfig::rope), ElementsAre(-1, -1, 0, 0, 0, -1, 0, -1));
  EXPECT_THAT(by_layer(config, &LayerConfig::moe), ElementsAre(0, 0, 1, 1, 1, 1, 1, 1));
}

TEST(RoutedOptions, GptjHasNamesOfItsOwnForItsSizes) {
  const std::string sizes =
      R"({"model_type": "gptj", "vocab_size": 32, "n_embd": 64, "n_layer": 2, "n_head": 4, "rotary_dim": 6)";
  const ModelConfig config = parse_model_config(sizes + "}", "config.json");
  EXPECT_EQ(config.intermediate_size, 256);
  EXPECT_EQ(config.num_kv_heads, 4);
  EXPECT_EQ(config.ropes.at(0).rotary_dim, 6);
  EXPECT_TRUE(config.lm_head_bias);
  EXPECT_EQ(parse_model_config(sizes + R"(, "n_inner": 20})", "config.json").intermediate_size, 20);
  EXPECT_EQ(refusal("codegen", R"({"num_attention_heads": 2, "rotary_dim": 4})"),
            "config.json: `num_attention_heads` is 2, not a multiple of the 4 groups of the fused weight");
}

TEST(RoutedOptions, AnIndexerLimitsThePositions) {
  const ModelConfig config = config_of("deepseek_v32", R"({"num_key_value_heads": 8, "index_topk": 64,
      "layer_types": ["indexed_attention", "indexed_attention", "indexed_attention", "indexed_attention"]})");
  EXPECT_EQ(config.index_topk, 64);
  EXPECT_THAT(by_layer(config, &LayerConfig::window), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(config.ropes.at(0).layout, RopeLayout::kInterleaved);
  require_full_attention(config, 64, "--cache-len");
  require_full_attention(config_of("llama"), 1000000, "--cache-len");
  try {
    require_full_attention(config, 65, "--cache-len");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.text(),
              "--cache-len: 65 positions: beyond 64 (`index_topk`) an indexer of this model chooses the keys of every query, "
              "which is not supported\n  fix: --cache-len 64, or fewer tokens");
  }
  const std::string types = R"("layer_types": ["indexed_attention", "full_attention", "full_attention", "full_attention"])";
  EXPECT_EQ(refusal("qwen2", "{" + types + "}"),
            "config.json: `layer_types` has \"indexed_attention\", which is not supported (full_attention, sliding_attention)");
}

TEST(RoutedOptions, MiniCpmScalesByDepthAndWidth) {
  const ModelConfig config = config_of("minicpm3", R"({"num_key_value_heads": 8, "scale_emb": 3, "dim_model_base": 16})");
  EXPECT_EQ(config.embedding_scale, 3.0);
  EXPECT_EQ(config.residual_scale, 0.7);
  EXPECT_EQ(config.logits_scale, 0.25);
  EXPECT_EQ(config.mla->v_head_dim, 8);
  const ModelConfig plain = config_of("minicpm3", R"({"num_key_value_heads": 8, "scale_depth": null, "dim_model_base": null})");
  EXPECT_EQ(plain.residual_scale, 1.0);
  EXPECT_EQ(plain.logits_scale, 1.0);
}

TEST(RoutedOptions, PhimoeStretchesByLengthAlone) {
  const std::string factors =
      R"("short_factor": [1, 1, 1, 1], "long_factor": [2, 2, 2, 2], "short_mscale": 1.1, "long_mscale": 1.3)";
  const ModelConfig config =
      config_of("phimoe", R"({"num_local_experts": 4, "rope_scaling": {"type": "longrope", )" + factors + "}}");
  EXPECT_EQ(config.ropes.at(0).short_mscale, 1.1);
  EXPECT_EQ(config.ropes.at(0).long_mscale, 1.3);
  EXPECT_EQ(config.moe->sparse_mixer_width, 0.02);
  EXPECT_EQ(refusal("phimoe", R"({"num_local_experts": 4, "rope_scaling": {"type": "linear", "factor": 2.0}})"),
            "config.json: `rope_scaling.rope_type` is not supported for this model_type (default, longrope)");
  EXPECT_EQ(refusal("phimoe", R"({"num_local_experts": 4, "num_experts_per_tok": 3})"),
            "config.json: `num_experts_per_tok` is 3; only 2 is supported");
}

TEST(RoutedOptions, ThePadRowOfYoutuIsZero) {
  const std::string heads = R"("num_key_value_heads": 8)";
  EXPECT_EQ(config_of("youtu", "{" + heads + R"(, "pad_token_id": 5})").zero_embedding_row, 5);
  EXPECT_EQ(config_of("youtu", "{" + heads + R"(, "pad_token_id": -1})").zero_embedding_row, 31);
  EXPECT_EQ(config_of("youtu", "{" + heads + "}").zero_embedding_row, std::nullopt);
  EXPECT_EQ(config_of("llama", R"({"pad_token_id": 5})").zero_embedding_row, std::nullopt);
  EXPECT_EQ(refusal("youtu", "{" + heads + R"(, "pad_token_id": 32})"),
            "config.json: `pad_token_id` is 32, not between -32 and 31");
}

TEST(RoutedOptions, XieluNeedsAPlainMlp) {
  EXPECT_TRUE(config_of("apertus").xielu);
  EXPECT_FALSE(config_of("apertus", R"({"hidden_act": "gelu"})").xielu);
  EXPECT_EQ(refusal("llama", R"({"hidden_act": "xielu"})"), "config.json: `hidden_act` is \"xielu\", which needs a plain MLP");
  EXPECT_EQ(refusal("apertus1p5_text", R"({"output_vocab_size": 16})"),
            "config.json: `output_vocab_size` is 16; only null is supported");
}

}  // namespace
}  // namespace tp
