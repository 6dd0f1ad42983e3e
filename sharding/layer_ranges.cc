#include "sharding/layer_ranges.h"

namespace tp {
namespace {

std::string ranges_of(const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    if (!text.empty()) text += ",";
    text += std::to_string(numbers[i]);
    if (end > i) text += "-" + std::to_string(numbers[end]);
    i = end + 1;
  }
  return text;
}

}  // namespace

std::string name_in_layers(const std::string& pattern, const std::vector<int>& layers, int total) {
  const size_t star = pattern.find('*');
  if (star == std::string::npos || static_cast<int>(layers.size()) == total) return pattern;
  const std::string numbers = ranges_of(layers);
  std::string name = pattern;
  return name.replace(star, 1, layers.size() == 1 ? numbers : "[" + numbers + "]");
}

}  // namespace tp
