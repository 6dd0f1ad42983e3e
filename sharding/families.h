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

// Which layers attend through a sliding window, when `sliding_window` is set.
enum class WindowRule {
  kNone,
  kAllLayers,            // mistral
  kAllLayersIfUsed,      // if `use_sliding_window`: qwen3_moe
  kFromMaxWindowLayers,  // `layer_types`, else layers >= `max_window_layers`, if `use_sliding_window`: qwen2
  kAlternateBelowMax,    // `layer_types`, else every second layer < `max_window_layers`, if `use_sliding_window`: qwen2_moe
  kWritten,              // `layer_types` alone: mellum
  kEdges,                // `layer_types`, else all but the first two, every fourth after the second and the last: flint
  kChunks,               // `layer_types`, else the layers that rotate; chunks of `attention_chunk_size`: llama4
  kPatternFullFirst,     // as kPattern, the full layer first: cwm
  kPattern,              // `layer_types`, else all but every `sliding_window_pattern`-th layer: gemma2
  kUnrotated,            // `layer_types`, else the layers without rotation, if `use_sliding_window`: smollm3
};

// Which layers rotate.
enum class RopeRule {
  kAllLayers,
  kNoRopeLayers,           // `no_rope_layers` (1 = rotates), else all but every `no_rope_layer_interval`-th: smollm3
  kSlidingLayers,          // cohere2
  kSlidingLayersIfWindow,  // all layers when there is no window: exaone4
  kSlidingOrDense,         // also dense ones, when `prefix_dense_sliding_window_pattern` is 1: cohere2_moe
  kLayerTheta,             // a theta for each layer in `layer_rope_theta`, 0 = no rotation: granite_swa
};

enum class AttentionScale {
  kHeadDim,       // head_dim^-0.5
  kQueryPreAttn,  // query_pre_attn_scalar^-0.5: gemma2
  kMultiplier,    // `attention_multiplier`: granite
};

enum class EmbeddingScale {
  kOne,
  kSqrtHidden,       // sqrt(hidden_size) in the model's dtype: gemma
  kMultiplier,       // `embedding_multiplier`: granite
  kSqrtHiddenIfMup,  // sqrt(hidden_size) if `mup_enabled`: afmoe
  kScaleEmb,         // `scale_emb`, and with it `scale_depth` and `dim_model_base`: minicpm3
};

enum class LogitsScale { kOne, kMultiply /* `logit_scale` */, kDivide /* `logits_scaling` */ };

// Which layers are mixtures of experts.
enum class SparseRule {
  kAllLayers,
  kStep,        // every `decoder_sparse_step`-th that is not in `mlp_only_layers`: qwen2_moe
  kFirstDense,  // `mlp_layer_types`, else from `first_k_dense_replace` on: deepseek_v3
  kDenseCount,  // from `num_dense_layers` on: afmoe
  kListed,      // those in `moe_layers`, else every `interleave_moe_layer_step`-th: llama4
  kInterval,    // every `moe_layer_interval`-th from `moe_layer_start_index` to `moe_layer_end_index`: ernie4_5_moe
};

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
  std::string_view attention_gate = "self_attn.gate_proj";
  std::string_view gate = "mlp.gate_proj";
  std::string_view up = "mlp.up_proj";
  std::string_view gate_up = "mlp.gate_up_proj";
  std::string_view down = "mlp.down_proj";
  std::string_view router = "mlp.gate";
  std::string_view experts = "mlp.experts";
  std::string_view shared_expert = "mlp.shared_experts";
  std::string_view correction_bias = "";   // empty = "<router>.e_score_correction_bias"
  bool correction_may_be_missing = false;  // the released checkpoints have none: axk1
  // Where checkpoints store what transformers renames; empty = under the same name.
  std::string_view stored_lm_head = "";
  std::string_view stored_router = "";   // with ".weight"
  std::string_view stored_experts = "";  // "<this>.*.<expert_gate>.weight"
  std::string_view stored_gate_up = "";  // the stacked tensor, with ".weight"
  std::string_view stored_down = "";
  std::string_view stored_qkv = "";  // q, k and v in one weight: sarvam_moe
  // Parts of names that checkpoints may have in place of transformers', "part=stored part=stored": exaone.
  std::string_view stored_parts = "";
  std::string_view expert_gate = "gate_proj";
  std::string_view expert_up = "up_proj";
  std::string_view expert_down = "down_proj";
};

// A bool option of a family: "" = no, "yes" = always, anything else = the config key that says so.
using Switch = std::string_view;

// How a family spells its mixture of experts; num_experts empty = it has none.
struct MoeSpelling {
  std::string_view num_experts = "";
  std::string_view top_k = "num_experts_per_tok";
  std::string_view intermediate_size = "moe_intermediate_size";
  SparseRule sparse = SparseRule::kAllLayers;
  RouterKind router = RouterKind::kSoftmax;
  Switch normalize_top_k = "";
  // Width of the shared expert: a key of its own, or `n_shared_experts` times that of an expert.
  std::string_view shared_intermediate_size = "";
  bool shared_count = false;
  bool shared_fused = false;
  // "average" in this key halves the sum of routed and shared experts; 0 in that of the width: no shared expert.
  std::string_view shared_strategy = "";
  bool shared_gate = false;
  bool grouped = false;  // `n_group`, `topk_group`, `routed_scaling_factor`
  GroupScore group_score = GroupScore::kMax;
  bool correction_bias = false;
  bool correction_row = false;        // which is stored as [1, experts]
  std::string_view scaling_key = "";  // that multiplies the weights, for routers without groups
  bool clamped_swiglu = false;        // with it come biases of the router and of the experts, stored [in, out]
  bool transposed = false;
  bool weights_input = false;
};

// One row per model_type: everything that is not a number of config.json. Source: transformers 5.24, the configuration_*.py
// and modeling_*.py of the model_type.
struct Family {
  std::string_view model_type;
  // Checked against a reference implementation; a family that is not warns at load.
  bool verified = true;
  // The config keys that change this family's numbers, as a JSON object with the defaults of the configuration class (sizes
  // that every file must give have none). A key that is neither here nor a size is not understood.
  std::string_view defaults = "{}";
  // Keys that are understood with one value alone, as a JSON object.
  std::string_view fixed = "{}";
  // Other spellings of keys: "written=meant written=meant".
  std::string_view aliases = "";

  double default_theta = 10000.0;
  // One rope object per layer type, with this theta for sliding layers; 0 = one for all layers: gemma3.
  double sliding_theta = 0.0;
  std::string_view sliding_theta_key = "";
  std::string_view rope_type_aliases = "";  // as `aliases`
  bool partial_rotary = false;              // `partial_rotary_factor` is understood
  bool ntk_alpha = false;                   // `alpha` of a dynamic rope stretches theta once and for all: hunyuan
  RopeLayout rope_layout = RopeLayout::kHalf;
  Switch rope_interleaved = "";  // wins over rope_layout
  RopeRule rope_rule = RopeRule::kAllLayers;
  bool rope_reversed = false;  // turns by the negative angle: nanochat
  // The rope's `llama_4_scaling_beta` stretches queries with their position: ministral3.
  bool rope_scales_queries = false;
  std::string_view rotary_dim_key = "";  // an older spelling of partial_rotary_factor, in features: minimax_m2
  bool short_frequencies = false;        // longrope with `short_mscale` and `long_mscale`: phimoe
  WindowRule window = WindowRule::kNone;

  NormKind norm = NormKind::kRms;
  bool norm_bias = false;
  bool norm_weight = true;
  bool zero_pad_row = false;                       // transformers zeroes the embedding of `pad_token_id` at load: youtu
  bool embedding_norm = false;                     // the final norm, applied to the embedding too: nanochat
  std::string_view norm_eps_key = "rms_norm_eps";  // empty = 1e-5, always
  std::string_view rms_eps_key = "";               // where this key has a value the norms are kRms with it: cohere2_moe
  NormPlacement placement = NormPlacement::kPre;
  bool post_experts_norm = false;
  Switch post_norms = "";  // the placement is kPrePost when it says so: hyperclovax

  bool fused_qkv = false;
  bool qkv_per_head = false;
  int64_t qkv_groups = 0;  // rows in so many groups of q, v and k: codegen
  Switch qkv_bias = "attention_bias";
  Switch o_bias = "attention_bias";
  Switch qk_norm_on = "";
  QkNorm qk_norm = QkNorm::kPerHead;
  bool qk_norm_after_rope = false;
  bool qk_norm_rotated = false;  // without weights, and in layers that rotate alone: llama4
  bool attention_gate = false;
  bool attention_sinks = false;
  bool mla = false;
  // Its sparse attention is full attention up to `index_topk` positions; its layer_types say "indexed_attention".
  bool indexed = false;

  MlpForm mlp = MlpForm::kGated;
  Switch mlp_bias = "";
  // Where config.json has the width of the dense MLP; "intermediate_size" where that says nothing, else 4 * hidden_size.
  std::string_view mlp_size_key = "intermediate_size";
  std::string_view activation_key = "hidden_act";
  bool gelu_is_tanh = false;  // "gelu" means the tanh form: gemma
  Switch lm_head_bias = "";
  MoeSpelling moe = {};

  bool ignores_attention_softcap = false;  // transformers does not read the key: gemma3
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
