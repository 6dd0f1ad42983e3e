#pragma once

#include <map>
#include <string>
#include <vector>

#include "sharding/plan_check.h"

namespace tp {

// Collects what is wrong with a plan, module by module, and reports what is equal in several layers once.
class PlanFindings {
 public:
  explicit PlanFindings(const ResolvedPlan& plan);

  // `what` does not name the module: the report puts its pattern before it ("layers.*.mlp.up_proj", or
  // "layers.[3,5-7].mlp.up_proj" when only some layers have the problem).
  void add(const PlannedModule& module, std::string what, std::string fix);
  // The same about the experts module that a parameter of experts belongs to.
  void add_for_experts(const PlannedModule& parameter, std::string what, std::string fix);
  // Whether the module's rule is the user's own.
  bool by_user(const PlannedModule& module) const;
  // "layers.*.mlp.experts" of "layers.3.mlp.experts.down_proj".
  static std::string experts_pattern(const PlannedModule& parameter);

  // In the order of the first finding of each.
  std::vector<PlanProblem> problems() const;

 private:
  struct Finding {
    std::string where, pattern, what, fix;
    std::vector<int> layers;
  };

  void add(std::optional<size_t> rule, const std::string& pattern, int layer, std::string what, std::string fix);

  const ResolvedPlan& plan_;
  std::map<std::string, int> layers_with_;  // how many layers have a module of this pattern
  std::vector<Finding> findings_;
};

// "a", "a and b", "a, b and c".
std::string joined_with_and(const std::vector<std::string>& names);

// The last part of a module's name: "q_proj".
std::string short_name(const PlannedModule& module);

}  // namespace tp
