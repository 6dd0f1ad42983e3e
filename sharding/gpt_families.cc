#include "sharding/family_rows.h"

namespace tp {
namespace {

// GPT-J's modules, which CodeGen took over; the fused weight is CodeGen's alone.
constexpr ParameterNames kGptjNames = {.embedding = "wte",
                                       .layers = "h",
                                       .final_norm = "ln_f",
                                       .pre_attention_norm = "ln_1",
                                       .pre_mlp_norm = "",
                                       .q = "attn.q_proj",
                                       .k = "attn.k_proj",
                                       .v = "attn.v_proj",
                                       .qkv = "attn.qkv_proj",
                                       .o = "attn.out_proj",
                                       .up = "mlp.fc_in",
                                       .down = "mlp.fc_out"};

Family gptj(std::string_view model_type, int64_t qkv_groups) {
  return {.model_type = model_type,
          .defaults = R"({"activation_function": "gelu_new",
                          "max_position_embeddings": 2048, "layer_norm_epsilon": 1e-5, "tie_word_embeddings": false,
                          "rotary_dim": 64, "n_inner": null, "eos_token_id": 50256})",
          .fixed = R"({"scale_attn_weights": true})",
          .aliases =
              "n_positions=max_position_embeddings n_embd=hidden_size n_layer=num_hidden_layers "
              "n_head=num_attention_heads",
          .partial_rotary = true,
          .rope_layout = RopeLayout::kInterleaved,
          .rotary_dim_key = "rotary_dim",
          .norm = NormKind::kLayerNorm,
          .norm_bias = true,
          .norm_eps_key = "layer_norm_epsilon",
          .placement = NormPlacement::kParallel,
          .fused_qkv = qkv_groups > 0,
          .qkv_groups = qkv_groups,
          .qkv_bias = "",
          .o_bias = "",
          .mlp = MlpForm::kPlain,
          .mlp_bias = "yes",
          .mlp_size_key = "n_inner",
          .activation_key = "activation_function",
          .lm_head_bias = "yes",
          .names = kGptjNames};
}

Family apertus(std::string_view model_type) {
  return {.model_type = model_type,
          .defaults = R"({"num_key_value_heads": null, "hidden_act": "xielu", "max_position_embeddings": 65536,
                          "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "attention_bias": false, "eos_token_id": 2,
                          "rope_parameters": {"rope_type": "llama3", "rope_theta": 12000000.0, "factor": 8.0,
                                              "original_max_position_embeddings": 8192, "low_freq_factor": 1.0,
                                              "high_freq_factor": 4.0}})",
          .fixed = R"({"output_vocab_size": null})",
          .default_theta = 12000000.0,
          .qk_norm_on = "yes",
          .mlp = MlpForm::kPlain,
          .names = {.pre_attention_norm = "attention_layernorm", .pre_mlp_norm = "feedforward_layernorm"}};
}

}  // namespace

std::vector<Family> gpt_families() {
  return {
      apertus("apertus"),
      apertus("apertus1p5_text"),
      gptj("codegen", 4),
      gptj("gptj", 0),
      {.model_type = "nemotron",
       .defaults = R"({"num_key_value_heads": null, "hidden_act": "relu2", "max_position_embeddings": 4096, "norm_eps": 1e-5,
                       "tie_word_embeddings": false, "attention_bias": false, "mlp_bias": false,
                       "partial_rotary_factor": 0.5, "eos_token_id": 3})",
       .partial_rotary = true,
       .norm = NormKind::kLayerNormOnePlus,
       .norm_bias = true,
       .norm_eps_key = "norm_eps",
       .mlp = MlpForm::kPlain,
       .mlp_bias = "mlp_bias"},
  };
}

}  // namespace tp
