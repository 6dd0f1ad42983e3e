#include "sharding/families.h"

#include <algorithm>

namespace tp {

const std::vector<Family>& families() {
  static const std::vector<Family> table = {
      {.model_type = "llama",
       .defaults = R"({"num_key_value_heads": null, "head_dim": null, "hidden_act": "silu", "max_position_embeddings": 2048,
                       "rms_norm_eps": 1e-6, "tie_word_embeddings": false, "attention_bias": false, "mlp_bias": false})",
       .mlp_bias = "mlp_bias"},
      {.model_type = "mistral",
       .defaults = R"({"num_key_value_heads": 8, "head_dim": null, "hidden_act": "silu", "max_position_embeddings": 131072,
                       "rms_norm_eps": 1e-6, "tie_word_embeddings": false, "sliding_window": 4096})",
       .window = WindowRule::kAllLayers,
       .qkv_bias = "",
       .o_bias = ""},
      {.model_type = "qwen2",
       .defaults = R"({"num_key_value_heads": 32, "head_dim": null, "hidden_act": "silu", "max_position_embeddings": 32768,
                       "rms_norm_eps": 1e-6, "tie_word_embeddings": false, "use_sliding_window": false,
                       "sliding_window": 4096, "max_window_layers": 28, "layer_types": null})",
       .window = WindowRule::kUseSlidingWindow,
       .qkv_bias = "yes",
       .o_bias = ""},
      {.model_type = "qwen3",
       .defaults = R"({"num_key_value_heads": 32, "head_dim": 128, "hidden_act": "silu", "max_position_embeddings": 32768,
                       "rms_norm_eps": 1e-6, "tie_word_embeddings": false, "attention_bias": false,
                       "use_sliding_window": false, "sliding_window": 4096, "max_window_layers": 28, "layer_types": null})",
       .window = WindowRule::kUseSlidingWindow,
       .qk_norm_on = "yes"},
  };
  return table;
}

const Family* find_family(std::string_view model_type) {
  for (const Family& family : families()) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

std::vector<std::string> known_model_types() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.model_type);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tp
