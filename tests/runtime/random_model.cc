#include "tests/runtime/random_model.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "sharding/parameters.h"
#include "tests/runtime/safetensors_header.h"

namespace tp {
namespace {

using Json = nlohmann::json;

class ConfigDraw {
 public:
  ConfigDraw(const Family& family, RandomSource& random)
      : family_(family), random_(random), defaults_(Json::parse(family.defaults)), fixed_(Json::parse(family.fixed)) {}

  Json run() {
    config_["model_type"] = family_.model_type;
    config_["max_position_embeddings"] = 64;
    sizes();
    switches();
    factors();
    windows();
    if (family_.mla) latent();
    if (!family_.moe.num_experts.empty()) experts();
    return config_;
  }

 private:
  bool known(const std::string& key) const { return defaults_.contains(key) && !fixed_.contains(key); }
  void set(std::string_view key, const Json& value) { config_[std::string(key)] = value; }

  void sizes() {
    config_["vocab_size"] = random_.pick({17, 32, 33, 40, 61});
    config_["hidden_size"] = random_.pick({16, 24, 40, 64});
    set(family_.mlp_size_key, random_.pick({7, 12, 24, 33}));
    config_["intermediate_size"] = random_.pick({7, 12, 24, 33});
    config_["num_hidden_layers"] = random_.pick({1, 2});
    config_["head_dim"] = random_.pick({4, 8, 12});
    const int kv_heads = random_.pick({1, 2, 3, 4, 8});
    config_["num_key_value_heads"] = kv_heads;
    config_["num_attention_heads"] = kv_heads * (kv_heads == 8 ? 1 : random_.pick({1, 2, 3}));
    if (family_.qkv_groups > 0) config_["num_attention_heads"] = family_.qkv_groups * random_.pick({1, 2});
    if (family_.qkv_groups > 0 || family_.model_type == "gptj") config_["num_key_value_heads"] = config_["num_attention_heads"];
    if (!family_.rotary_dim_key.empty()) set(family_.rotary_dim_key, random_.pick({2, 4}));
  }

  void switches() {
    for (const auto& [key, value] : defaults_.items()) {
      if (value.is_boolean() && known(key)) config_[key] = random_.chance(50);
    }
    if (!known("tie_word_embeddings")) config_["tie_word_embeddings"] = random_.chance(50);
  }

  void factors() {
    for (const char* key : {"embedding_multiplier", "residual_multiplier", "logits_scaling", "logit_scale",
                            "attention_multiplier", "routed_scaling_factor", "clip_qkv", "attn_logit_softcapping"}) {
      if (known(key)) config_[key] = random_.pick({0.5, 0.8, 1.0, 1.7});
    }
    if (known("partial_rotary_factor")) config_["rope_parameters"] = {{"partial_rotary_factor", 0.5}};
    if (known("query_pre_attn_scalar")) config_["query_pre_attn_scalar"] = 6;
  }

  void windows() {
    if (!known("sliding_window") || random_.chance(25)) return;
    config_["sliding_window"] = 2 + random_.below(3);
    if (known("max_window_layers")) config_["max_window_layers"] = random_.below(3);
    if (known("layer_rope_theta")) layer_thetas();
    if (!known("layer_types") || random_.chance(50)) return;
    config_["layer_types"] = Json::array();
    for (int layer = 0; layer < config_.at("num_hidden_layers").get<int>(); ++layer) {
      config_["layer_types"].push_back(random_.chance(50) ? "full_attention" : "sliding_attention");
    }
  }

  void layer_thetas() {
    config_["layer_rope_theta"] = Json::array();
    for (int layer = 0; layer < config_.at("num_hidden_layers").get<int>(); ++layer) {
      config_["layer_rope_theta"].push_back(random_.pick({0.0, 100.0, 10000.0}));
    }
  }

  void latent() {
    config_["num_key_value_heads"] = config_["num_attention_heads"];
    config_["kv_lora_rank"] = random_.pick({6, 8});
    config_["q_lora_rank"] = random_.chance(50) ? Json(nullptr) : Json(random_.pick({5, 12}));
    config_["qk_nope_head_dim"] = random_.pick({4, 6});
    config_["qk_rope_head_dim"] = random_.pick({2, 4});
    config_["v_head_dim"] = random_.pick({4, 6});
  }

  void experts() {
    const MoeSpelling& moe = family_.moe;
    const int count = random_.pick({2, 3, 4, 6, 8});
    set(moe.num_experts, count);
    if (!fixed_.contains(moe.top_k)) set(moe.top_k, 1 + random_.below(2));
    set(moe.intermediate_size, random_.pick({5, 8, 12}));
    if (!moe.shared_intermediate_size.empty()) set(moe.shared_intermediate_size, random_.pick({6, 8}));
    if (moe.shared_count) config_["n_shared_experts"] = 1 + random_.below(2);
    if (moe.grouped && count % 4 == 0) config_["n_group"] = 2;
    if (moe.grouped) config_["topk_group"] = 1;
    if (moe.grouped && count % 4 != 0) config_["n_group"] = 1;
    if (known("topk_method")) config_["topk_method"] = count % 4 == 0 ? "group_limited_greedy" : "greedy";
    if (known("first_k_dense_replace")) config_["first_k_dense_replace"] = random_.below(2);
    if (!moe.shared_strategy.empty()) set(moe.shared_strategy, random_.chance(50) ? "sum" : "average");
    if (known("num_dense_layers")) config_["num_dense_layers"] = random_.below(2);
    if (known("decoder_sparse_step")) config_["decoder_sparse_step"] = 1 + random_.below(2);
    if (known("mlp_only_layers") && random_.chance(25)) config_["mlp_only_layers"] = Json::array({0});
  }

  const Family& family_;
  RandomSource& random_;
  const Json defaults_, fixed_;
  Json config_;
};

// Factor on a normal number, and what is added to it.
std::pair<float, float> spread_of(const ModuleSpec& module, const ModelConfig& config) {
  const std::vector<int64_t>& shape = module.weight_shape;
  switch (module.role) {
    case Role::kEmbedding:
      return {1.0f / static_cast<float>(config.embedding_scale), 0.0f};
    case Role::kRouter:
      return {4.0f / std::sqrt(static_cast<float>(shape.back())), 0.0f};
    case Role::kSinks:
    case Role::kXieluPositive:
    case Role::kXieluNegative:
    case Role::kCorrectionBias:
    case Role::kExpertsGateUpBias:
    case Role::kExpertsDownBias:
      return {0.5f, 0.0f};
    default:
      break;
  }
  const bool norm = shape.size() == 1 || module.role == Role::kQNorm || module.role == Role::kKNorm;
  const bool one_plus = config.norm == NormKind::kRmsOnePlus || config.norm == NormKind::kLayerNormOnePlus;
  if (norm) return {0.25f, one_plus ? 0.0f : 1.0f};
  return {1.3f / std::sqrt(static_cast<float>(shape.back())), 0.0f};
}

}  // namespace

std::string random_config(const Family& family, RandomSource& random) {
  return ConfigDraw(family, random).run().dump(2);
}

void write_random_weights(const ModelConfig& config, const std::filesystem::path& dir, RandomSource& random) {
  std::vector<HeaderTensor> tensors;
  std::vector<float> values;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape, float factor, float middle) {
    tensors.push_back({name, "F32", shape});
    for (int64_t i = tensors.back().elements(); i > 0; --i) values.push_back(middle + factor * random.normal());
  };
  const bool apart = random.chance(50), store_head = !config.tie_word_embeddings || random.chance(20);
  for (const ModuleSpec& module : module_tree(config)) {
    const auto [factor, middle] = spread_of(module, config);
    const bool stored = module.has_weight && (store_head || module.role != Role::kLmHead);
    if (apart && !module.per_expert.empty()) {
      const auto parts = static_cast<int64_t>(module.per_expert.size());
      for (const std::string& pattern : module.per_expert) {
        for (int64_t expert = 0; expert < module.weight_shape[0]; ++expert) {
          std::string name = pattern;
          name.replace(name.find('*'), 1, std::to_string(expert));
          add(name, {module.weight_shape[1] / parts, module.weight_shape[2]}, factor, middle);
        }
      }
    } else if (stored) {
      add(module.weight_name(), module.weight_shape, factor, middle);
    }
    if (module.has_bias) add(module.bias_name(), {module.weight_shape[0]}, 0.5f, 0.0f);
  }
  std::ofstream file(dir / "model.safetensors", std::ios::binary);
  file << safetensors_header(tensors);
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

}  // namespace tp
