#pragma once

#include <string>
#include <vector>

#include "sharding/plan_report.h"

namespace tp {

// Weights of several layers that are cut in the same way by the same rule: one line of a report.
struct WeightGroup {
  std::string name;  // "layers.*.mlp.up_proj.weight"
  const WeightShare* first = nullptr;
  std::vector<int> layers;  // {-1} outside the blocks
  int64_t count() const { return static_cast<int64_t>(layers.size()); }
};

// In the order of the first weight of each. The report must outlive them.
std::vector<WeightGroup> weight_groups(const PlanReport& report);

// Sizes for people: "640 B", "12.5 KiB", "1.25 GiB".
std::string size_text(int64_t bytes);

// "[4096, 1024]".
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace tp
