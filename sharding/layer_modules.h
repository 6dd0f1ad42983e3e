#pragma once

#include <vector>

#include "sharding/plan.h"

namespace tp {

// The planned modules of one layer, by role.
class LayerModules {
 public:
  void add(const PlannedModule& planned) { modules_.push_back(&planned); }
  // nullptr for what the layer does not have.
  const PlannedModule* find(Role role) const;
  // Those of `roles` that the layer has, in that order.
  std::vector<const PlannedModule*> present(std::initializer_list<Role> roles) const;

 private:
  std::vector<const PlannedModule*> modules_;
};

// One per layer, in order. The modules of `plan` must outlive them.
std::vector<LayerModules> layers_of(const ResolvedPlan& plan);

}  // namespace tp
