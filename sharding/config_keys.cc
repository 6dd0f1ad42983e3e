#include "sharding/config_keys.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace tp {
namespace {

// Keys of save_pretrained, of training and of text generation that no forward pass reads.
const std::set<std::string_view>& harmless_keys() {
  static const std::set<std::string_view> keys = {
      "_attn_implementation",
      "_attn_implementation_autoset",
      "_attn_implementation_internal",
      "_commit_hash",
      "_experts_implementation",
      "_experts_implementation_internal",
      "_flash_attn_2_enabled",
      "_name_or_path",
      "architectures",
      "attention_dropout",
      "attention_probs_dropout_prob",
      "attn_implementation",
      "attn_pdrop",
      "auto_map",
      "aux_loss_alpha",
      "bad_words_ids",
      "begin_suppress_tokens",
      "bos_token",
      "bos_token_id",
      "cache_implementation",
      "chunk_size_feed_forward",
      "classifier_dropout",
      "cross_attention_hidden_size",
      "decoder_start_token_id",
      "diversity_penalty",
      "do_sample",
      "dtype",
      "early_stopping",
      "eod_token_id",
      "embd_pdrop",
      "embedding_dropout",
      "encoder_no_repeat_ngram_size",
      "eos_token",
      "eos_token_id",
      "ep_size",
      "exponential_decay_length_penalty",
      "finetuning_task",
      "forced_bos_token_id",
      "forced_eos_token_id",
      "gradient_checkpointing",
      "hidden_dropout",
      "hidden_dropout_prob",
      "id2label",
      "initializer_factor",
      "initializer_range",
      "input_jitter_noise",
      "is_decoder",
      "is_llama_config",
      "keys_to_ignore_at_inference",
      "label2id",
      "length_penalty",
      "max_length",
      "max_window_layers",
      "min_length",
      "mlp_dropout",
      "model_type",
      "mtp_layer_types",
      "mtp_mlp_layer_types",
      "n_ctx",
      "name_or_path",
      "no_repeat_ngram_size",
      "num_beam_groups",
      "num_beams",
      "num_labels",
      "num_logits_to_keep",
      "num_mtp_layers",
      "num_nextn_predict_layers",
      "num_return_sequences",
      "output_attentions",
      "output_hidden_states",
      "output_router_logits",
      "output_scores",
      "pad_token",
      "pad_token_id",
      "prefix",
      "problem_type",
      "pruned_heads",
      "remove_invalid_values",
      "repetition_penalty",
      "resid_dropout",
      "resid_pdrop",
      "residual_dropout",
      "return_dict",
      "return_dict_in_generate",
      "router_aux_loss_coef",
      "router_jitter_noise",
      "router_z_loss_coef",
      "sep_token_id",
      "seq_aux",
      "suppress_tokens",
      "task_specific_params",
      "temperature",
      "tf_legacy_loss",
      "tie_encoder_decoder",
      "tie_last_hidden_states",
      "tokenizer_class",
      "top_k",
      "top_p",
      "torch_dtype",
      "torchscript",
      "transformers.js_config",
      "transformers_version",
      "typical_p",
      "unsloth_fixed",
      "unsloth_version",
      "use_bfloat16",
      "use_cache",
      "use_flash_attn",
      "use_return_dict",
  };
  return keys;
}

// Keys that change the numbers in some family, with the values that change nothing; null never does.
const std::map<std::string_view, Json>& number_changing_keys() {
  static const std::map<std::string_view, Json> keys = {
      {"add_cross_attention", {false}},
      {"alibi", {false}},
      {"apply_residual_connection_post_layernorm", {false}},
      {"attention_bias", {false}},
      {"attention_chunk_size", Json::array()},
      {"attention_in_bias", {false}},
      {"attention_multiplier", Json::array()},
      {"attention_out_bias", {false}},
      {"attn_logit_softcapping", Json::array()},
      {"attn_temperature_tuning", {false, 0}},
      {"clip_qkv", Json::array()},
      {"dim_model_base", Json::array()},
      {"dual_chunk_attention_config", Json::array()},
      {"embedding_multiplier", {1.0}},
      {"final_logit_softcapping", Json::array()},
      {"hidden_act", {"silu", "gelu_pytorch_tanh"}},
      {"hidden_activation", {"gelu_pytorch_tanh"}},
      {"is_causal", {true}},
      {"is_encoder_decoder", {false}},
      {"kv_lora_rank", {0}},
      {"layer_norm_epsilon", Json::array()},
      {"logit_scale", {1.0}},
      {"logits_scaling", {1.0}},
      {"mamba_d_state", Json::array()},
      {"mlp_bias", {false}},
      {"moe_intermediate_size", {0}},
      {"mup_base_width", Json::array()},
      {"n_routed_experts", {0}},
      {"no_rope_layers", Json::array()},
      {"num_experts", {0}},
      {"num_local_experts", {0}},
      {"partial_rotary_factor", {1.0}},
      {"per_layer_config", Json::array()},
      {"position_embedding_type", {"absolute", "rope", "rope_gptj", "rotary"}},
      {"q_lora_rank", {0}},
      {"qk_layernorm", {false}},
      {"qk_norm", {false}},
      {"query_pre_attn_scalar", Json::array()},
      {"residual_multiplier", {1.0}},
      {"rope_interleave", {false}},
      {"rope_interleaved", {false}},
      {"rope_local_base_freq", Json::array()},
      {"rotary_pct", {1.0}},
      {"scale_attn_weights", {true}},
      {"scale_depth", {1.0}},
      {"scale_emb", {1.0}},
      {"sliding_window", Json::array()},
      {"sliding_window_pattern", Json::array()},
      {"use_alibi", {false}},
      {"use_attention_sinks", {false}},
      {"use_bias", {false}},
      {"use_bidirectional_attention", {false}},
      {"use_dynamic_ntk", {false}},
      {"use_logn_attn", {false}},
      {"use_mrope", {false}},
      {"use_parallel_residual", {false}},
      {"use_qk_norm", {false}},
      {"use_qkv_bias", {false}},
      {"use_sliding_window", {false}},
      {"v_head_dim", Json::array()},
  };
  return keys;
}

}  // namespace

std::vector<std::string> check_foreign_keys(ConfigValues& values, const std::vector<std::string>& own_keys) {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : values.written_values().items()) {
    if (harmless_keys().contains(key) || std::find(own_keys.begin(), own_keys.end(), key) != own_keys.end()) continue;
    const auto changing = number_changing_keys().find(key);
    if (changing == number_changing_keys().end()) {
      unknown.push_back(key);
      continue;
    }
    const Json& neutral = changing->second;
    if (value.is_null() || std::find(neutral.begin(), neutral.end(), value) != neutral.end()) continue;
    values.problem(key, "is not supported for this model_type");
  }
  return unknown;
}

}  // namespace tp
