#include "tests/runtime/quantized_case.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tp {

QuantizedCase::QuantizedCase(const std::string& name)
    : dir(std::string(TPRUN_SOURCE_DIR) + "/tests/golden/quantized/" + name) {
  std::ifstream file(dir + "/golden.json");
  const auto golden = nlohmann::json::parse(file);
  golden.at("ids").get_to(ids);
  golden.at("logits").get_to(logits);
}

double QuantizedCase::distance(const Logits& from) const {
  double largest = 0;
  for (size_t t = 0; t < ids.size(); ++t)
    for (size_t v = 0; v < logits[t].size(); ++v)
      largest = std::max(largest, std::abs(static_cast<double>(from.at(0, static_cast<int64_t>(t))[v]) - logits[t][v]));
  return largest;
}

Batch whole_prompt(const std::vector<int32_t>& ids) {
  const auto length = static_cast<int32_t>(ids.size());
  return {1, length, ids, {0}, {length}, {0}, {length}};
}

double largest_difference(const Logits& a, const Logits& b) {
  if (a.data.size() != b.data.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < a.data.size(); ++i)
    largest = std::max(largest, static_cast<double>(std::abs(a.data[i] - b.data[i])));
  return largest;
}

}  // namespace tp
