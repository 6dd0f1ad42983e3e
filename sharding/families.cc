#include "sharding/families.h"

#include <algorithm>

#include "sharding/family_rows.h"

namespace tp {

const std::vector<Family>& families() {
  static const std::vector<Family> table = [] {
    std::vector<Family> rows = dense_families();
    for (const auto& part :
         {llama_families(), gpt_families(), granite_families(), moe_families(), deepseek_families(), routed_families()})
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

std::vector<std::string> known_model_types() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.model_type);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tp
