#include "sharding/family_rows.h"

namespace tp {
namespace {

// Granite's factors, in every row.
Family granite(Family family) {
  family.attention_scale = AttentionScale::kMultiplier;
  family.embedding_scale = EmbeddingScale::kMultiplier;
  family.logits_scale = LogitsScale::kDivide;
  return family;
}

// Windows, sinks and a rotary base for each layer.
Family swash(Family family) {
  family.rope_rule = RopeRule::kLayerTheta;
  family.window = WindowRule::kPatternFullFirst;
  family.attention_sinks = true;
  return granite(family);
}

constexpr MoeSpelling kMoe = {.num_experts = "num_local_experts",
                              .intermediate_size = "intermediate_size",
                              .router = RouterKind::kTopKSoftmax,
                              .shared_intermediate_size = "shared_intermediate_size",
                              .shared_fused = true};

constexpr ParameterNames kMoeNames = {.router = "block_sparse_moe.router",
                                      .experts = "block_sparse_moe.experts",
                                      .shared_expert = "shared_mlp",
                                      .stored_router = "block_sparse_moe.router.layer.weight",
                                      .stored_gate_up = "block_sparse_moe.input_linear.weight",
                                      .stored_down = "block_sparse_moe.output_linear.weight"};

}  // namespace

std::vector<Family> granite_families() {
  return {
      swash({.model_type = "granite_swa",
             .defaults = R"({"num_key_value_heads": 4, "hidden_act": "silu", "max_position_embeddings": 8192,
                             "rms_norm_eps": 1e-5, "tie_word_embeddings": true, "attention_bias": false, "mlp_bias": false,
                             "embedding_multiplier": 1.0, "logits_scaling": 1.0, "residual_multiplier": 1.0,
                             "attention_multiplier": 1.0, "sliding_window": 128, "layer_types": null,
                             "sliding_window_pattern": 4, "layer_rope_theta": null, "eos_token_id": 100257})",
             .fixed = R"({"sliding_window_pattern": 4})",
             .mlp_bias = "mlp_bias"}),
      granite({.model_type = "granitemoeshared",
               .defaults = R"({"num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048,
                               "rms_norm_eps": 1e-6, "tie_word_embeddings": false, "attention_bias": false,
                               "embedding_multiplier": 1.0, "logits_scaling": 1.0, "residual_multiplier": 1.0,
                               "attention_multiplier": 1.0, "num_local_experts": 8, "num_experts_per_tok": 2,
                               "shared_intermediate_size": 0, "eos_token_id": 2})",
               .aliases = "num_experts=num_local_experts",
               .moe = kMoe,
               .names = kMoeNames}),
      swash({.model_type = "granitemoe_swa",
             .defaults = R"({"num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048,
                             "rms_norm_eps": 1e-6, "tie_word_embeddings": false, "attention_bias": false,
                             "embedding_multiplier": 1.0, "logits_scaling": 1.0, "residual_multiplier": 1.0,
                             "attention_multiplier": 1.0, "num_local_experts": 8, "num_experts_per_tok": 2,
                             "shared_intermediate_size": 0, "sliding_window": 128, "layer_types": null,
                             "sliding_window_pattern": 4, "layer_rope_theta": null, "eos_token_id": 2})",
             .fixed = R"({"sliding_window_pattern": 4})",
             .aliases = "num_experts=num_local_experts",
             .moe = kMoe,
             .names = kMoeNames}),
  };
}

}  // namespace tp
