#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sharding/model_config.h"

namespace tp {

// Where a block has its norms.
enum class NormPlacement {
  kPre,          // before attention and before mlp
  kPrePost,      // before and after both: gemma2, glm4
  kPost,         // after both, none before: olmo2
  kParallel,     // one before both, which run side by side: cohere, phi
  kParallelKey,  // two pre norms; side by side if `use_parallel_residual`: gpt_neox
};

// Which layers attend through a sliding window.
enum class WindowRule {
  kNone,
  kAllLayers,         // `sliding_window`, when it is set: mistral
  kUseSlidingWindow,  // `layer_types`, else layers >= `max_window_layers`, if `use_sliding_window`: qwen2
  kLayerTypes,        // `layer_types`, else every `sliding_window_pattern`-th layer is full: gemma2
};

// Which layers rotate.
enum class RopeRule {
  kAllLayers,
  kNoRopeLayers,  // `no_rope_layers` (1 = rotates), else every `no_rope_layer_interval`-th layer does not: smollm3
  kSlidingOnly,   // cohere2, exaone4: full layers do not rotate
};

enum class AttentionScale {
  kHeadDim,       // head_dim^-0.5
  kQueryPreAttn,  // query_pre_attn_scalar^-0.5: gemma2
  kMultiplier,    // `attention_multiplier`: granite
};

enum class EmbeddingScale {
  kOne,
  kSqrtHidden,  // sqrt(hidden_size) in the model's dtype: gemma
  kMultiplier,  // `embedding_multiplier`: granite
};

enum class LogitsScale { kOne, kMultiply /* `logit_scale` */, kDivide /* `logits_scaling` */ };

// Names of a block's parameters below "<prefix><layers>.<n>."; an empty one does not exist in the family.
struct ParameterNames {
  std::string_view prefix = "model.";  // before everything but the head
  std::string_view embedding = "embed_tokens";
  std::string_view layers = "layers";
  std::string_view final_norm = "norm";
  std::string_view lm_head = "lm_head";
  std::string_view pre_attention_norm = "input_layernorm";
  std::string_view post_attention_norm = "";
  std::string_view pre_mlp_norm = "post_attention_layernorm";
  std::string_view post_mlp_norm = "";
  std::string_view q = "self_attn.q_proj";
  std::string_view k = "self_attn.k_proj";
  std::string_view v = "self_attn.v_proj";
  std::string_view qkv = "self_attn.qkv_proj";
  std::string_view o = "self_attn.o_proj";
  std::string_view q_norm = "self_attn.q_norm";
  std::string_view k_norm = "self_attn.k_norm";
  std::string_view gate = "mlp.gate_proj";
  std::string_view up = "mlp.up_proj";
  std::string_view gate_up = "mlp.gate_up_proj";
  std::string_view down = "mlp.down_proj";
};

// A bool option of a family: "" = no, "yes" = always, anything else = the config key that says so.
using Switch = std::string_view;

// One row per model_type: everything that is not a number of config.json. Source: transformers 5.24, the configuration_*.py
// and modeling_*.py of the model_type.
struct Family {
  std::string_view model_type;
  // Checked against a reference implementation; a family that is not warns at load.
  bool verified = true;
  // The config keys that change this family's numbers, as a JSON object with the defaults of the configuration class, beside
  // the keys that every family must write (families.cc: required_keys). A key that is not here is not understood.
  std::string_view defaults = "{}";
  // Other spellings: "written=meant", separated by blanks.
  std::string_view aliases = "";
  double default_theta = 10000.0;
  bool partial_rotary = false;  // `partial_rotary_factor` is understood
  RopeLayout rope_layout = RopeLayout::kHalf;
  RopeRule rope_rule = RopeRule::kAllLayers;
  WindowRule window = WindowRule::kNone;

  NormKind norm = NormKind::kRms;
  Switch norm_bias = "";
  bool norm_weight = true;
  std::string_view norm_eps_key = "rms_norm_eps";
  NormPlacement placement = NormPlacement::kPre;

  bool fused_qkv = false;
  bool qkv_per_head = false;
  Switch qkv_bias = "attention_bias";
  Switch o_bias = "attention_bias";
  Switch qk_norm_on = "";
  QkNorm qk_norm = QkNorm::kPerHead;
  bool qk_norm_after_rope = false;

  MlpForm mlp = MlpForm::kGated;
  Switch mlp_bias = "";
  std::string_view activation_key = "hidden_act";
  Switch lm_head_bias = "";

  AttentionScale attention_scale = AttentionScale::kHeadDim;
  EmbeddingScale embedding_scale = EmbeddingScale::kOne;
  LogitsScale logits_scale = LogitsScale::kOne;

  ParameterNames names = {};
};

const std::vector<Family>& families();

// nullptr for a model_type that is not in the table.
const Family* find_family(std::string_view model_type);

// All model types, in alphabetical order.
std::vector<std::string> known_model_types();

}  // namespace tp
