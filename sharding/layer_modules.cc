#include "sharding/layer_modules.h"

#include <algorithm>

namespace tp {

const PlannedModule* LayerModules::find(Role role) const {
  const auto found = std::ranges::find_if(modules_, [&](const PlannedModule* planned) { return planned->module.role == role; });
  return found == modules_.end() ? nullptr : *found;
}

std::vector<const PlannedModule*> LayerModules::present(std::initializer_list<Role> roles) const {
  std::vector<const PlannedModule*> present;
  for (Role role : roles) {
    if (const PlannedModule* planned = find(role)) present.push_back(planned);
  }
  return present;
}

std::vector<LayerModules> layers_of(const ResolvedPlan& plan) {
  std::vector<LayerModules> layers;
  for (const PlannedModule& planned : plan.modules) {
    if (planned.module.layer < 0) continue;
    if (planned.module.layer >= static_cast<int>(layers.size())) layers.resize(planned.module.layer + 1);
    layers[planned.module.layer].add(planned);
  }
  return layers;
}

}  // namespace tp
