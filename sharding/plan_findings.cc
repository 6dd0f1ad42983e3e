#include "sharding/plan_findings.h"

#include <algorithm>

#include "sharding/layer_ranges.h"
#include "sharding/plan_pattern.h"

namespace tp {
PlanFindings::PlanFindings(const ResolvedPlan& plan) : plan_(plan) {
  for (const PlannedModule& planned : plan.modules) {
    ++layers_with_[pattern_of(planned.module.name)];
    if (planned.module.role == Role::kExpertsDown) ++layers_with_[experts_pattern(planned)];
  }
}

void PlanFindings::add(const PlannedModule& module, std::string what, std::string fix) {
  add(module.rule, pattern_of(module.module.name), module.module.layer, std::move(what), std::move(fix));
}

void PlanFindings::add_for_experts(const PlannedModule& parameter, std::string what, std::string fix) {
  add(parameter.experts_rule, experts_pattern(parameter), parameter.module.layer, std::move(what), std::move(fix));
}

void PlanFindings::add(std::optional<size_t> rule, const std::string& pattern, int layer, std::string what, std::string fix) {
  const std::string& where = rule ? plan_.plan.rules[*rule].where : plan_.plan.name;
  auto same = [&](const Finding& f) { return f.where == where && f.pattern == pattern && f.what == what && f.fix == fix; };
  auto found = std::ranges::find_if(findings_, same);
  if (found == findings_.end()) {
    found = findings_.insert(found, {where, pattern, std::move(what), std::move(fix), {}});
  }
  found->layers.push_back(layer);
}

bool PlanFindings::by_user(const PlannedModule& module) const {
  return module.rule && plan_.plan.rules[*module.rule].source != RuleSource::kDefault;
}

std::string PlanFindings::experts_pattern(const PlannedModule& parameter) {
  const std::string pattern = pattern_of(parameter.module.name);
  return pattern.substr(0, pattern.find_last_of('.'));
}

std::vector<PlanProblem> PlanFindings::problems() const {
  std::vector<PlanProblem> problems;
  for (const Finding& finding : findings_) {
    const std::string subject = name_in_layers(finding.pattern, finding.layers, layers_with_.at(finding.pattern));
    problems.push_back({finding.where, subject + ": " + finding.what, finding.fix});
  }
  return problems;
}

std::string joined_with_and(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::string short_name(const PlannedModule& module) {
  return module.module.name.substr(module.module.name.find_last_of('.') + 1);
}

}  // namespace tp
