#include "sharding/model_config.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sharding/config_keys.h"
#include "sharding/config_values.h"
#include "sharding/error.h"
#include "sharding/expert_config.h"
#include "sharding/families.h"
#include "sharding/layer_config.h"
#include "sharding/near_names.h"
#include "sharding/rope_config.h"
#include "sharding/stored_format.h"
#include "sharding/unsupported_models.h"

namespace tp {
namespace {

// Upper bounds keep every product of sizes far from overflow and a hostile file from large allocations.
constexpr int64_t kMaxVocab = INT32_MAX;
constexpr int64_t kMaxHidden = int64_t{1} << 20;
constexpr int64_t kMaxIntermediate = int64_t{1} << 24;
constexpr int64_t kMaxHeads = 1 << 16;
constexpr int64_t kMaxHeadDim = 1 << 14;
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxPositions = int64_t{1} << 40;

bool is_on(Switch what, ConfigValues& values) {
  if (what.empty()) return false;
  return what == "yes" || values.boolean(std::string(what));
}

const Family& family_of(ConfigValues& values) {
  const std::string name = values.text("model_type");
  values.throw_problems("a Hugging Face config.json names its architecture in `model_type`");
  if (const Family* family = find_family(name)) return *family;
  if (const std::string_view reason = unsupported_reason(name); !reason.empty()) {
    throw Error(values.path(), "model_type `" + name + "` is not supported: " + std::string(reason));
  }
  std::string known;
  for (const std::string& one : known_model_types()) known += (known.empty() ? "" : ", ") + one;
  const std::string near = did_you_mean(name, known_model_types());
  throw Error(values.path(), "unknown model_type `" + name + "`", (near.empty() ? "" : near + " ") + "known ones are " + known);
}

// Keys that are read or checked here, whatever they say.
std::vector<std::string> own_keys(const Family& family, const Json& defaults, const Json& fixed) {
  std::vector<std::string> keys = {
      "vocab_size",          "hidden_size",         "intermediate_size", "num_hidden_layers",
      "num_attention_heads", "num_key_value_heads", "layer_types",       "quantization_config",
      "tie_word_embeddings", "pretraining_tp",      "head_dim",          "max_position_embeddings"};
  for (const auto& [key, value] : defaults.items()) keys.push_back(key);
  for (const auto& [key, value] : fixed.items()) keys.push_back(key);
  for (const std::string& key : rope_keys(family)) keys.push_back(key);
  keys.emplace_back(family.mlp_size_key);
  return keys;
}

int64_t read_mlp_size(ConfigValues& values, const Family& family, int64_t hidden_size) {
  const std::string key(family.mlp_size_key), usual = "intermediate_size";
  if (key == usual || values.has(key)) return values.integer(key, 1, kMaxIntermediate);
  return values.known(usual) ? values.integer(usual, 1, kMaxIntermediate) : 4 * hidden_size;
}

void read_sizes(ConfigValues& values, const Family& family, ModelConfig& config) {
  config.vocab_size = values.integer("vocab_size", 1, kMaxVocab);
  config.hidden_size = values.integer("hidden_size", 1, kMaxHidden);
  config.intermediate_size = read_mlp_size(values, family, config.hidden_size);
  config.num_heads = values.integer("num_attention_heads", 1, kMaxHeads);
  config.num_kv_heads = config.num_heads;
  // A family that has no such key passes over one in the file.
  if (values.known("num_key_value_heads")) {
    config.num_kv_heads = values.optional_integer("num_key_value_heads", 1, kMaxHeads).value_or(config.num_heads);
  }
  config.max_position_embeddings = values.integer("max_position_embeddings", 1, kMaxPositions);
  config.layers.resize(static_cast<size_t>(values.integer("num_hidden_layers", 1, kMaxLayers)));
  if (values.has("head_dim")) {
    config.head_dim = values.integer("head_dim", 1, kMaxHeadDim);
  } else {
    config.head_dim = config.hidden_size / config.num_heads;
    if (values.sound({"hidden_size", "num_attention_heads"}) && config.hidden_size % config.num_heads != 0) {
      values.problem("hidden_size", "is " + std::to_string(config.hidden_size) + ", not a multiple of num_attention_heads = " +
                                        std::to_string(config.num_heads) + ", and there is no head_dim");
    }
  }
  if (values.sound({"num_attention_heads", "num_key_value_heads"}) && config.num_heads % config.num_kv_heads != 0) {
    values.problem("num_attention_heads",
                   "is " + std::to_string(config.num_heads) +
                       ", not a multiple of num_key_value_heads = " + std::to_string(config.num_kv_heads));
  }
}

std::optional<int64_t> token_id(ConfigValues& values, const std::string& key) {
  const std::optional<int64_t> id = values.optional_integer(key, -1, INT32_MAX);
  return id == -1 ? std::nullopt : id;  // -1 is how some files say "none"
}

void read_tokens(ConfigValues& values, const Family& family, ModelConfig& config) {
  if (values.at("eos_token_id").is_array()) {
    config.eos_token_ids = values.integers("eos_token_id", 0, INT32_MAX);
  } else if (const std::optional<int64_t> id = token_id(values, "eos_token_id")) {
    config.eos_token_ids = {*id};
  }
  config.bos_token_id = values.at("bos_token_id").is_array() ? std::nullopt : token_id(values, "bos_token_id");
  config.pad_token_id = token_id(values, "pad_token_id");
  if (!family.zero_pad_row || !values.has("pad_token_id")) return;
  // A negative row counts from the end, as in torch.
  const int64_t row = values.integer("pad_token_id", -config.vocab_size, config.vocab_size - 1);
  config.zero_embedding_row = row < 0 ? row + config.vocab_size : row;
}

void read_dtype(ConfigValues& values, ModelConfig& config) {
  const std::string key = values.has("dtype") ? "dtype" : "torch_dtype";
  if (!values.has(key)) return;
  const std::string name = values.text(key);
  if (name == "auto" || name.empty()) return;
  try {
    config.dtype = dtype_from_torch(name, values.path());
  } catch (const Error& error) {
    values.problem(key, "is \"" + name + "\", not a dtype");
  }
}

Activation read_activation(ConfigValues& values, const std::string& key) {
  static const std::map<std::string, Activation> kinds = {
      {"silu", Activation::kSilu},
      {"swish", Activation::kSilu},
      {"gelu", Activation::kGelu},
      {"gelu_python", Activation::kGelu},
      {"gelu_new", Activation::kGeluTanh},
      {"gelu_fast", Activation::kGeluTanh},
      {"gelu_pytorch_tanh", Activation::kGeluTanh},
      {"gelu_python_tanh", Activation::kGeluTanh},
      {"relu", Activation::kRelu},
      {"relu2", Activation::kRelu2},
      {"quick_gelu", Activation::kQuickGelu},
  };
  const std::string name = values.text(key);
  const auto found = kinds.find(name);
  if (found != kinds.end()) return found->second;
  if (!name.empty()) values.problem(key, "is \"" + name + "\", an activation that is not supported");
  return Activation::kSilu;
}

void read_block(ConfigValues& values, const Family& family, ModelConfig& config) {
  config.norm = family.norm;
  config.norm_eps = family.norm_eps_key.empty() ? 1e-5 : values.number(std::string(family.norm_eps_key), 0, 1);
  if (const std::string rms(family.rms_eps_key); !rms.empty() && values.has(rms)) {
    config.norm = NormKind::kRms;
    config.norm_eps = values.number(rms, 0, 1);
  }
  config.norm_bias = family.norm_bias;
  config.norm_weight = family.norm_weight;
  config.embedding_norm = family.embedding_norm;
  config.fused_qkv = family.fused_qkv;
  config.qkv_groups = family.qkv_per_head ? config.num_heads : family.qkv_groups;
  config.qkv_value_second = family.qkv_groups > 0;
  if (config.qkv_groups > 0) config.num_kv_heads = config.num_heads;  // every head has its own k and v, whatever the file says
  if (config.qkv_groups > 0 && config.num_heads % config.qkv_groups != 0) {
    values.problem("num_attention_heads", "is " + std::to_string(config.num_heads) + ", not a multiple of the " +
                                              std::to_string(config.qkv_groups) + " groups of the fused weight");
  }
  config.q_bias = config.k_bias = config.v_bias = is_on(family.qkv_bias, values);
  config.o_bias = is_on(family.o_bias, values);
  config.gate_up_bias = config.down_bias = is_on(family.mlp_bias, values);
  config.lm_head_bias = is_on(family.lm_head_bias, values);
  config.qk_norm = is_on(family.qk_norm_on, values) ? family.qk_norm : QkNorm::kNone;
  config.qk_norm_weight = !family.qk_norm_rotated;
  config.attention_gate = family.attention_gate;
  config.qk_norm_after_rope = family.qk_norm_after_rope;
  config.mlp = family.mlp;
  const std::string activation_key(family.activation_key);
  config.xielu = values.at(activation_key) == "xielu";
  if (config.xielu && config.mlp != MlpForm::kPlain) values.problem(activation_key, "is \"xielu\", which needs a plain MLP");
  if (!config.xielu) config.activation = read_activation(values, activation_key);
  if (family.gelu_is_tanh && config.activation == Activation::kGelu) config.activation = Activation::kGeluTanh;
  config.attention_sinks = family.attention_sinks;
  config.tie_word_embeddings = values.boolean("tie_word_embeddings");
}

// MiniCPM3Config: each null stands for a factor of 1.
void read_minicpm_scales(ConfigValues& values, ModelConfig& config) {
  constexpr double kLargest = 1e15;
  const double layers = static_cast<double>(config.num_layers()), hidden = static_cast<double>(config.hidden_size);
  config.embedding_scale = values.number("scale_emb", -kLargest, kLargest);
  config.embedding_scale_rounded = true;
  const double depth = values.optional_number("scale_depth", -kLargest, kLargest).value_or(std::sqrt(layers));
  config.residual_scale = depth / std::sqrt(layers);
  config.logits_scale = values.optional_number("dim_model_base", 1e-9, kLargest).value_or(hidden) / hidden;
}

void read_factors(ConfigValues& values, const Family& family, ModelConfig& config) {
  constexpr double kLargest = 1e15;
  if (family.attention_scale == AttentionScale::kQueryPreAttn) {
    config.attention_scale = 1.0 / std::sqrt(values.number("query_pre_attn_scalar", 1e-9, kLargest));
  } else if (family.attention_scale == AttentionScale::kMultiplier) {
    const double usual = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
    config.attention_scale = values.optional_number("attention_multiplier", -kLargest, kLargest).value_or(usual);
  } else {
    config.attention_scale = config.mla ? mla_attention_scale(config) : 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  }
  if (family.embedding_scale == EmbeddingScale::kSqrtHidden) {
    config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
    config.embedding_scale_rounded = true;
  } else if (family.embedding_scale == EmbeddingScale::kMultiplier) {
    config.embedding_scale = values.number("embedding_multiplier", -kLargest, kLargest);
  } else if (family.embedding_scale == EmbeddingScale::kSqrtHiddenIfMup && values.boolean("mup_enabled")) {
    config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
  } else if (family.embedding_scale == EmbeddingScale::kScaleEmb) {
    read_minicpm_scales(values, config);
  }
  if (family.logits_scale == LogitsScale::kMultiply) config.logits_scale = values.number("logit_scale", -kLargest, kLargest);
  if (family.logits_scale == LogitsScale::kDivide) config.logits_scale = 1.0 / values.number("logits_scaling", 1e-9, kLargest);
  if (values.known("residual_multiplier")) config.residual_scale = values.number("residual_multiplier", -kLargest, kLargest);
  if (values.known("attn_logit_softcapping") && !family.ignores_attention_softcap) {
    config.attention_softcap = values.optional_number("attn_logit_softcapping", 1e-9, kLargest).value_or(0);
  }
  if (values.known("final_logit_softcapping")) {
    config.logits_softcap = values.optional_number("final_logit_softcapping", 1e-9, kLargest).value_or(0);
  }
  if (values.known("clip_qkv")) config.qkv_clip = values.optional_number("clip_qkv", 1e-9, kLargest).value_or(0);
}

void place_norms(ConfigValues& values, const Family& family, ModelConfig& config) {
  const NormPlacement placement = is_on(family.post_norms, values) ? NormPlacement::kPrePost : family.placement;
  config.pre_attention_norm = placement != NormPlacement::kPost;
  config.pre_mlp_norm = placement != NormPlacement::kPost && placement != NormPlacement::kParallel;
  config.post_attention_norm = config.post_mlp_norm = placement == NormPlacement::kPost || placement == NormPlacement::kPrePost;
  config.post_experts_norm = family.post_experts_norm;
  config.parallel_block = placement == NormPlacement::kParallel ||
                          (placement == NormPlacement::kParallelKey && values.boolean("use_parallel_residual"));
}

void check_fixed(ConfigValues& values, const Json& fixed) {
  for (const auto& [key, only] : fixed.items()) {
    const Json& value = values.at(key);
    if (!value.is_null() && value != only)
      values.problem(key, "is " + value.dump() + "; only " + only.dump() + " is supported");
  }
}

// A family with names of its own for theta and the rotated part reads the usual ones inside the rope object alone (gpt_neox):
// beside it they would be passed over.
void refuse_unread_rope_keys(ConfigValues& values, const Family& family, const Json& defaults) {
  for (const auto& [own, usual] : parse_aliases(family.aliases)) {
    if (usual != "rope_theta" && usual != "partial_rotary_factor") continue;
    const Json otherwise = usual == "rope_theta" ? Json(family.default_theta) : defaults.at(usual);
    const bool in_rope = values.at("rope_parameters").contains(usual) || values.at("rope_scaling").contains(usual);
    if (in_rope || !values.written(usual) || values.written(own) || values.at(usual) == otherwise) continue;
    values.problem(usual, "is not read beside the rope of this model_type; write `" + own + "`");
  }
}

}  // namespace

ModelConfig parse_model_config(std::string_view text, const std::string& path) {
  Json json = parse_json(text, path);
  if (!json.is_object()) throw Error(path, "not a JSON object", "get the model's config.json again");
  ConfigValues unread(json, Json::object(), path);
  const Family& family = family_of(unread);
  const Json defaults = parse_json(family.defaults, std::string(family.model_type));
  const Json fixed = parse_json(family.fixed, std::string(family.model_type));
  ConfigValues values(std::move(json), defaults, path);
  refuse_unread_rope_keys(values, family, defaults);
  values.rename(family.aliases);
  // Read again with the weights (checkpoint.h); here what is not supported is refused with the other keys.
  if (values.has("quantization_config")) parse_stored_formats(values.at("quantization_config"), path);
  ModelConfig config;
  config.path = path;
  config.model_type = family.model_type;
  read_sizes(values, family, config);
  read_tokens(values, family, config);
  read_dtype(values, config);
  read_block(values, family, config);
  place_norms(values, family, config);
  read_mla(values, family, config);
  read_moe(values, family, config);
  read_ropes(values, family, config);
  read_layers(values, family, config);
  read_factors(values, family, config);
  check_fixed(values, fixed);
  for (const std::string& key : check_foreign_keys(values, own_keys(family, defaults, fixed))) {
    config.warnings.push_back(path + ": `" + key + "` is not known and is ignored");
  }
  if (values.has("pretraining_tp") && values.at("pretraining_tp") != 1) {
    config.warnings.push_back(path + ": `pretraining_tp` is ignored: it changes the order of sums, not the model");
  }
  if (!family.verified) {
    config.warnings.push_back(path + ": model_type `" + config.model_type + "` has not been checked against a reference");
  }
  values.throw_problems();
  return config;
}

void require_full_attention(const ModelConfig& config, int64_t positions, const std::string& option) {
  if (config.index_topk == 0 || positions <= config.index_topk) return;
  throw Error(option,
              std::to_string(positions) + " positions: beyond " + std::to_string(config.index_topk) +
                  " (`index_topk`) an indexer of this model chooses the keys of every query, which is not supported",
              "--cache-len " + std::to_string(config.index_topk) + ", or fewer tokens");
}

ModelConfig load_model_config(const std::filesystem::path& model) {
  std::error_code code;
  const std::filesystem::path path = std::filesystem::is_directory(model, code) ? model / "config.json" : model;
  if (!std::filesystem::exists(path, code)) {
    if (code) throw Error(path.string(), "cannot be read: " + code.message(), "--model wants a directory that you may read");
    throw Error(path.string(), "no such file", "--model wants a directory with a config.json, or that file");
  }
  return parse_model_config(read_text_file(path, int64_t{16} << 20), path.string());
}

}  // namespace tp
