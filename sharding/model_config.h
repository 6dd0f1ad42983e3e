#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/dtype.h"

namespace tp {

enum class NormKind {
  kRms,               // x / rms(x) * w, the product in float32 before w is applied as Llama does
  kRmsOnePlus,        // x / rms(x) * (1 + w): gemma
  kLayerNorm,         // (x - mean) / std * w + b; w and b may be absent
  kLayerNormOnePlus,  // the same with 1 + w: nemotron
};

enum class Activation { kSilu, kGelu, kGeluTanh, kRelu, kRelu2, kQuickGelu, kSigmoid };

enum class RopeLayout {
  kHalf,         // pairs (i, i + rotary_dim / 2): Llama
  kInterleaved,  // pairs (2i, 2i + 1): GLM, Cohere
};

enum class RopeType { kDefault, kLinear, kDynamic, kLlama3, kYarn, kLongRope };

// One rotary base of a model. Source of each formula: transformers/modeling_rope_utils.py.
struct RopeConfig {
  RopeType type = RopeType::kDefault;
  double theta = 10000.0;
  int64_t rotary_dim = 0;  // features of a head that are rotated, even, <= head_dim; the rest passes through
  RopeLayout layout = RopeLayout::kHalf;
  bool reversed = false;       // turns by the negative angle
  bool still = false;          // turns by nothing: what is left is the stretching of position_beta
  double position_beta = 0.0;  // cos and sin times 1 + beta * log(1 + floor((position + offset) / original_max_position))
  int64_t position_offset = 0;
  double factor = 1.0;
  int64_t original_max_position = 0;
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  // llama3
  double beta_fast = 32.0, beta_slow = 1.0;              // yarn
  bool truncate = true;                                  // yarn
  std::optional<double> attention_factor;                // yarn, longrope
  std::optional<double> mscale, mscale_all_dim;          // yarn (DeepSeek)
  std::vector<double> short_factor, long_factor;         // longrope
  // phimoe: what cos and sin are multiplied by, for short and long sequences; the frequencies are then always the short ones.
  std::optional<double> short_mscale, long_mscale;
};

enum class QkNorm {
  kNone,
  kPerHead,         // over head_dim, one weight for all heads: qwen3
  kPerHeadWeights,  // over head_dim, weight [heads, head_dim]: cohere
  kFullProjection,  // over the whole q (k) projection, before the split into heads: olmo2
};

enum class MlpForm {
  kGated,       // down(act(gate(x)) * up(x))
  kGatedFused,  // gate_up in one weight, rows [gate; up]
  kPlain,       // down(act(up(x)))
};

// How a router turns its logits into the weights of the chosen experts; all in float32.
enum class RouterKind {
  kSoftmax,      // softmax over all experts, then top-k of it
  kTopKSoftmax,  // top-k of the logits, then softmax over those k: gpt_oss, granitemoe
  kSigmoid,      // top-k of sigmoid + correction bias, weights from sigmoid alone: deepseek_v3, glm4_moe
  kTopKSigmoid,  // top-k of the logits + correction bias, weights are the sigmoid of the logits: kolibri1
  kSparseMixer,  // the best two, each with its softmax among the experts near it: phimoe
};

// How a group of experts is scored when only the best groups take part in the top-k.
enum class GroupScore { kMax, kTopTwoSum };

// Mixture of experts of the layers whose LayerConfig::moe is set. An expert is down(act(gate(x)) * up(x)).
struct MoeConfig {
  int64_t num_experts = 0;
  int64_t top_k = 0;
  int64_t intermediate_size = 0;         // of one expert
  int64_t shared_intermediate_size = 0;  // of the expert that every token passes through; 0 = none
  bool shared_gate = false;              // its output is multiplied by sigmoid(shared_expert_gate(x)): qwen2_moe
  RouterKind router = RouterKind::kSoftmax;
  bool normalize_top_k = false;  // divide the k weights by their sum (+ 1e-20 with kSigmoid); kTopKSoftmax needs none
  double routed_scaling = 1.0;   // on the k weights, after normalizing
  double sparse_mixer_width =
      0.0;                       // kSparseMixer: an expert is near the best when (best - it) / max(|it|, best) is at most this
  bool weights_input = false;    // an expert's weight multiplies what it takes, not what it gives: llama4
  bool transposed = false;       // the experts' weights are stored [in, out]
  bool shared_fused = false;     // the shared expert's gate and up are one weight: granitemoeshared
  bool averages_shared = false;  // routed and shared experts are averaged, not summed: cohere2_moe
  int64_t groups = 1, top_groups = 1;
  GroupScore group_score = GroupScore::kMax;
  bool correction_bias = false;  // a float32 vector [num_experts] added for the choice alone
  bool correction_row = false;   // stored as [1, num_experts]
  bool router_bias = false;
  bool expert_bias = false;  // on gate_up and down of every expert
  // gpt_oss: gate and up rows alternate; gate = min(gate, limit), up = clamp(up, -limit, limit),
  // (up + 1) * gate * sigmoid(alpha * gate).
  bool clamped_swiglu = false;
  double swiglu_alpha = 0.0, swiglu_limit = 0.0;
};

// Multi-head latent attention: q = q_b(norm(q_a(x))) (or q_proj when q_lora_rank is 0), [c, k_rope] = kv_a(x),
// [k_nope, v] = kv_b(norm(c)); k_rope is one head that all heads share. ModelConfig::head_dim is nope + rope.
struct MlaConfig {
  int64_t q_lora_rank = 0;  // 0 = none
  int64_t kv_lora_rank = 0;
  int64_t qk_nope_head_dim = 0;
  int64_t qk_rope_head_dim = 0;
  int64_t v_head_dim = 0;
  double norm_eps = 1e-6;  // of q_a_layernorm and kv_a_layernorm, whatever rms_norm_eps says
  bool a_bias = false;     // on q_a_proj and kv_a_proj_with_mqa
};

// What differs between the layers of one model.
struct LayerConfig {
  int64_t window = 0;    // a query sees keys in (position - window, position]; 0 = all
  bool chunked = false;  // the window begins at the last multiple of its size instead: llama4
  int rope = 0;          // index into ModelConfig::ropes; -1 = no rotation in this layer
  int query_rope = 0;    // the same for queries, where it differs
  bool qk_norm = true;   // where the model has one
  bool moe = false;
};

// A decoder-only model in numbers, independent of how its family spells them. Everything that changes the numbers of a
// forward pass is here; a key of config.json that would change them and is not understood is refused by name.
struct ModelConfig {
  std::string path;        // of the config.json, for messages
  std::string model_type;  // as in config.json
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_position_embeddings = 0;
  int64_t index_topk = 0;  // beyond so many positions an indexer chooses the keys of every query; 0 = it has none
  bool tie_word_embeddings = false;
  std::optional<DType> dtype;  // config `dtype` or `torch_dtype`
  std::vector<int64_t> eos_token_ids;
  std::optional<int64_t> bos_token_id, pad_token_id;
  std::optional<int64_t> zero_embedding_row;  // zero whatever the file has, also in a tied head: youtu
  std::vector<std::string> warnings;          // for stderr: keys that nobody knows, a family that no reference has confirmed

  NormKind norm = NormKind::kRms;
  double norm_eps = 1e-6;
  bool norm_bias = false;
  // Which of the norms a block has; their tensor names come from the family (families.h). A pre norm acts on the input
  // of attention (mlp), a post norm on its output before it joins the residual stream.
  bool pre_attention_norm = true, post_attention_norm = false;
  bool pre_mlp_norm = true, post_mlp_norm = false;
  bool post_experts_norm = false;  // a post_mlp_norm where the mlp is a mixture of experts: axk1
  // Attention and mlp both start from the block's input. Without a pre_mlp norm they share the pre_attention norm's output.
  bool parallel_block = false;
  bool norm_weight = true;      // olmo has norms without parameters
  bool embedding_norm = false;  // the final norm normalizes the embedding too

  bool fused_qkv = false;
  // Rows of the fused weight are [groups, 3, hidden / groups] (gpt_neox: a group for every head; codegen: 4); 0: [q; k; v].
  int64_t qkv_groups = 0;
  bool qkv_value_second = false;  // a group's rows are q, v, k: codegen
  bool q_bias = false, k_bias = false, v_bias = false, o_bias = false;
  bool gate_up_bias = false, down_bias = false;  // kPlain: up and down
  bool lm_head_bias = false;
  QkNorm qk_norm = QkNorm::kNone;  // of kind `norm`, with its eps and bias
  bool qk_norm_after_rope = false;
  bool qk_norm_weight = true;    // llama4 has one without parameters
  bool attention_gate = false;   // what attention gives is multiplied by sigmoid(gate(its input)): afmoe
  double qkv_clip = 0.0;         // q, k, v clamped to [-clip, clip] after the projection; 0 = none
  bool attention_sinks = false;  // a logit per head that takes part in the softmax and is then dropped: gpt_oss
  MlpForm mlp = MlpForm::kGated;
  Activation activation = Activation::kSilu;
  bool xielu = false;  // kPlain: an activation with two learned numbers a layer in the place of `activation`: apertus

  double attention_scale = 0.0;    // factor on q.k
  double attention_softcap = 0.0;  // cap * tanh(score / cap); 0 = none
  double logits_softcap = 0.0;
  double embedding_scale = 1.0;
  bool embedding_scale_rounded = false;  // to the model's dtype before it multiplies: gemma
  double residual_scale = 1.0;           // on what attention and mlp add
  double logits_scale = 1.0;

  std::vector<RopeConfig> ropes;
  std::vector<LayerConfig> layers;

  std::optional<MoeConfig> moe;  // of the layers that have it
  std::optional<MlaConfig> mla;  // of all layers

  int64_t num_layers() const { return static_cast<int64_t>(layers.size()); }
};

// Reads DIR/config.json, or the file itself. Throws Error: no such file, not JSON (line and column), unknown model_type
// (lists the known ones), a missing or senseless number, a quantized checkpoint, an option that is not supported (by
// its key).
ModelConfig load_model_config(const std::filesystem::path& model);

// The same for the text of a config.json that messages call `path`.
ModelConfig parse_model_config(std::string_view text, const std::string& path);

// Throws Error{where = option} when an indexer of the model would choose among `positions`.
void require_full_attention(const ModelConfig& config, int64_t positions, const std::string& option);

}  // namespace tp
