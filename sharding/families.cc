#include "sharding/families.h"

#include <algorithm>
#include <set>

#include "sharding/family_rows.h"

namespace tp {

const std::vector<Family>& families() {
  static const std::vector<Family> table = [] {
    std::vector<Family> rows = dense_families();
    for (const auto& part : {llama_families(), moe_families(), deepseek_families()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return table;
}

const Family* find_family(std::string_view model_type) {
  for (const Family& family : families()) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

bool has_recurrent_layers(std::string_view model_type) {
  static const std::set<std::string_view> types = {"bailing_hybrid",
                                                   "bamba",
                                                   "falcon_h1",
                                                   "falcon_mamba",
                                                   "granitemoehybrid",
                                                   "jamba",
                                                   "kimi_linear",
                                                   "lfm2",
                                                   "lfm2_moe",
                                                   "lfm3",
                                                   "mamba",
                                                   "mamba2",
                                                   "minimax",
                                                   "nemotron_h",
                                                   "olmo_hybrid",
                                                   "qwen3_5_text",
                                                   "qwen3_5_moe_text",
                                                   "qwen3_next",
                                                   "qwen4_exp_text",
                                                   "recurrent_gemma",
                                                   "rwkv",
                                                   "zamba",
                                                   "zamba2"};
  return types.contains(model_type);
}

std::vector<std::string> known_model_types() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.model_type);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tp
