#include "sharding/report_groups.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "sharding/layer_ranges.h"
#include "sharding/plan_pattern.h"

namespace tp {
namespace {

bool alike(const WeightShare& a, const WeightShare& b) {
  return a.style == b.style && a.where == b.where && a.rule == b.rule && a.shape == b.shape && a.shared == b.shared &&
         a.kind == b.kind && a.slices.front().local_shape == b.slices.front().local_shape;
}

}  // namespace

std::vector<WeightGroup> weight_groups(const PlanReport& report) {
  std::vector<WeightGroup> groups;
  std::map<std::string, std::vector<size_t>> by_pattern;  // groups of one pattern
  std::map<std::string, int> total;
  for (const WeightShare& share : report.weights) {
    const std::string pattern = pattern_of(share.name);
    ++total[pattern];
    std::vector<size_t>& candidates = by_pattern[pattern];
    const auto found = std::ranges::find_if(candidates, [&](size_t i) { return alike(*groups[i].first, share); });
    if (found != candidates.end()) {
      groups[*found].layers.push_back(share.layer);
      continue;
    }
    candidates.push_back(groups.size());
    groups.push_back({pattern, &share, {share.layer}});
  }
  for (WeightGroup& group : groups) group.name = name_in_layers(group.name, group.layers, total.at(group.name));
  return groups;
}

std::string size_text(int64_t bytes) {
  static const char* const kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < std::size(kUnits)) {
    value /= 1024.0;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : value < 10 ? "%.2f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

}  // namespace tp
