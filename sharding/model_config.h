#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sharding/dtype.h"

namespace tp {

enum class NormKind {
  kRms,         // x / rms(x) * w, the product in float32 before w is applied as Llama does
  kRmsOnePlus,  // x / rms(x) * (1 + w): gemma
  kLayerNorm,   // (x - mean) / std * w + b; w and b may be absent
};

enum class Activation { kSilu, kGelu, kGeluTanh, kRelu, kRelu2, kQuickGelu };

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
  double factor = 1.0;
  int64_t original_max_position = 0;
  double low_freq_factor = 1.0, high_freq_factor = 4.0;          // llama3
  double beta_fast = 32.0, beta_slow = 1.0;                      // yarn
  bool truncate = true;                                          // yarn
  std::optional<double> attention_factor;                        // yarn, longrope
  std::optional<double> mscale, mscale_all_dim;                  // yarn (DeepSeek)
  std::vector<double> short_factor, long_factor;                 // longrope
};

enum class QkNorm {
  kNone,
  kPerHead,         // over head_dim, one weight for all heads: qwen3
  kFullProjection,  // over the whole q (k) projection, before the split into heads: olmo2
};

enum class MlpForm {
  kGated,       // down(act(gate(x)) * up(x))
  kGatedFused,  // gate_up in one weight, rows [gate; up]
  kPlain,       // down(act(up(x)))
};

// What differs between the layers of one model.
struct LayerConfig {
  int64_t window = 0;  // a query sees keys in (position - window, position]; 0 = all
  int rope = 0;        // index into ModelConfig::ropes; -1 = no rotation in this layer
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
  bool tie_word_embeddings = false;
  std::optional<DType> dtype;  // config `dtype` or `torch_dtype`
  std::vector<int64_t> eos_token_ids;
  std::optional<int64_t> bos_token_id, pad_token_id;

  NormKind norm = NormKind::kRms;
  double norm_eps = 1e-6;
  bool norm_bias = false;
  // Which of the norms a block has; their tensor names come from the family (families.h). A pre norm acts on the input
  // of attention (mlp), a post norm on its output before it joins the residual stream.
  bool pre_attention_norm = true, post_attention_norm = false;
  bool pre_mlp_norm = true, post_mlp_norm = false;
  bool parallel_block = false;  // attention and mlp both read the pre_attention norm's output

  bool fused_qkv = false;
  bool q_bias = false, k_bias = false, v_bias = false, o_bias = false;
  bool gate_up_bias = false, down_bias = false;  // kPlain: up and down
  bool lm_head_bias = false;
  QkNorm qk_norm = QkNorm::kNone;
  MlpForm mlp = MlpForm::kGated;
  Activation activation = Activation::kSilu;

  double attention_scale = 0.0;   // factor on q.k
  double attention_softcap = 0.0; // cap * tanh(score / cap); 0 = none
  double logits_softcap = 0.0;
  double embedding_scale = 1.0;   // rounded to the model's dtype before it multiplies
  double residual_scale = 1.0;    // on what attention and mlp add
  double logits_scale = 1.0;

  std::vector<RopeConfig> ropes;
  std::vector<LayerConfig> layers;

  int64_t num_layers() const { return static_cast<int64_t>(layers.size()); }
};

// Reads DIR/config.json, or the file itself. Throws Error: no such file, not JSON (line and column), unknown model_type
// (lists the known ones), a missing or senseless number, a quantized checkpoint, an option that is not supported (by
// its key).
ModelConfig load_model_config(const std::filesystem::path& model);

}  // namespace tp
