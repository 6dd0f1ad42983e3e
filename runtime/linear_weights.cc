#include "runtime/linear_weights.h"

#include <algorithm>

namespace tp {

bool is_linear_weight(const Parameter& parameter) {
  return !parameter.is_bias && is_linear_role(parameter.module.role);
}

bool needs_no_collective(Style style) {
  return style != Style::kColwiseGatherOutput && style != Style::kRowwise && style != Style::kRowwiseSplitInput;
}

std::vector<std::vector<ParamId>> joined_linears(const ParameterTable& table) {
  std::vector<std::vector<ParamId>> sets;
  for (ParamId first = 0; first < table.size(); ++first) {
    const ModuleSpec& module = table.at(first).module;
    std::vector<Role> roles;
    if (module.role == Role::kQ) roles = {Role::kQ, Role::kK, Role::kV};
    if (module.role == Role::kGate) roles = {Role::kGate, Role::kUp};
    if (module.role == Role::kSharedGate) roles = {Role::kSharedGate, Role::kSharedUp};
    if (roles.empty() || table.weight(module.role, module.layer) != first) continue;
    std::vector<ParamId> set;
    for (Role role : roles) {
      const PlannedModule* planned = table.module(role, module.layer);
      if (planned != nullptr && needs_no_collective(planned->style)) set.push_back(table.weight(role, module.layer));
    }
    const auto alike = [&](ParamId id) { return table.at(id).kind == table.at(set[0]).kind; };
    if (set.size() == roles.size() && std::all_of(set.begin(), set.end(), alike)) sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace tp
