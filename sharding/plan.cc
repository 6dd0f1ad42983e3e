#include "sharding/plan.h"

#include <algorithm>
#include <set>

#include "sharding/error.h"
#include "sharding/head_layout.h"
#include "sharding/near_names.h"

namespace tp {
namespace {

std::string last_component(const std::string& name) {
  return name.substr(name.find_last_of('.') + 1);
}

std::string parent_of(const std::string& name) {
  return name.substr(0, name.find_last_of('.'));
}

// The patterns of a model's modules in the order of the forward pass, each once.
std::vector<std::string> module_patterns(const std::vector<ModuleSpec>& modules) {
  std::vector<std::string> patterns;
  std::set<std::string> seen;
  const auto add = [&](const std::string& pattern) {
    if (seen.insert(pattern).second) patterns.push_back(pattern);
  };
  for (const ModuleSpec& module : modules) {
    if (is_expert_parameter(module.role)) add(pattern_of(parent_of(module.name)));
    add(pattern_of(module.name));
  }
  return patterns;
}

// The nearest names alone: module names share so much that a typo in one part is near to many of them.
std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& known) {
  std::vector<std::string> near = near_names(name, known);
  std::erase_if(near, [&, best = near.empty() ? 0 : edit_distance(name, near.front())](const std::string& other) {
    return edit_distance(name, other) > best;
  });
  return near;
}

// How to mend a pattern that matches nothing: names that a typo, a forgotten beginning or too much of an end explain.
std::string mend_of(const std::string& pattern, const std::vector<std::string>& known, int layers) {
  const std::string generic = pattern_of(pattern);
  for (const std::string& name : known) {
    if (name == generic) return "the layers of this model are 0 to " + std::to_string(layers - 1);
    if (generic == name + ".weight" || generic == name + ".bias") {
      return "name the module: a rule for `" + name + "` covers its weight and bias";
    }
  }
  if (const std::vector<std::string> near = nearest(generic, known); !near.empty()) return did_you_mean(generic, near);
  std::vector<std::string> below, same_end;
  for (const std::string& name : known) {
    if (name.starts_with(generic + ".")) below.push_back(name);
    if (last_component(name) == last_component(generic)) same_end.push_back(name);
  }
  if (!below.empty()) return "a rule is for one module; those in it are " + quoted_list(below);
  if (!same_end.empty()) return did_you_mean(same_end.front(), same_end);
  return "the modules of this model are " + quoted_list(known);
}

class Resolver {
 public:
  Resolver(Plan plan, std::vector<ModuleSpec> modules, int tp_size) : matched_(plan.rules.size(), false) {
    resolved_.plan = std::move(plan);
    resolved_.tp_size = tp_size;
    for (const PlanRule& rule : resolved_.plan.rules) patterns_.emplace_back(rule.pattern);
    for (ModuleSpec& module : modules) resolved_.modules.push_back({.module = std::move(module)});
  }

  ResolvedPlan run() {
    for (PlannedModule& planned : resolved_.modules) assign(planned);
    refuse_unmatched();
    if (!problems_.empty()) throw_all(problems_);
    follow_heads(resolved_);
    if (resolved_.plan.uneven) deal_out_heads(resolved_);
    return std::move(resolved_);
  }

 private:
  const PlanRule& rule(size_t index) const { return resolved_.plan.rules[index]; }

  bool better(size_t a, size_t b) const {
    if (rule(a).source != rule(b).source) return rule(a).source > rule(b).source;
    return patterns_[a].stars() < patterns_[b].stars();
  }

  void assign(PlannedModule& planned) {
    planned.rule = best_rule(planned.module.name);
    if (planned.rule) planned.style = rule(*planned.rule).style;
    if (planned.module.role == Role::kSinks) accept_local_params(parent_of(planned.module.name));
    if (!is_expert_parameter(planned.module.role)) return;
    planned.experts_rule = best_rule(parent_of(planned.module.name));
    planned.experts_style = planned.experts_rule ? rule(*planned.experts_rule).style : Style::kReplicated;
  }

  // `local_params` on attention says what is so without it: its bare parameters follow the heads.
  void accept_local_params(const std::string& name) {
    const std::vector<std::string> components = name_components(name);
    for (size_t i = 0; i < patterns_.size(); ++i) {
      if (rule(i).style == Style::kLocalParams && patterns_[i].matches(components)) matched_[i] = true;
    }
  }

  std::optional<size_t> best_rule(const std::string& name) {
    const std::vector<std::string> components = name_components(name);
    std::vector<size_t> best;  // equally good rules
    for (size_t i = 0; i < patterns_.size(); ++i) {
      if (!patterns_[i].matches(components)) continue;
      matched_[i] = true;
      if (best.empty() || better(i, best.front())) {
        best = {i};
      } else if (!better(best.front(), i)) {
        best.push_back(i);
      }
    }
    if (best.empty()) return std::nullopt;
    if (best.size() > 1) refuse_rivals(best[0], best[1], name);
    return best.front();
  }

  void refuse_rivals(size_t first, size_t second, const std::string& name) {
    if (!reported_.emplace(first, second).second) return;
    problems_.emplace_back(rule(second).where,
                           "`" + rule(second).pattern + "` and `" + rule(first).pattern + "` (" + rule(first).where +
                               ") both match " + name + " and neither is more specific",
                           "remove one of them, or name the module itself");
  }

  void refuse_unmatched() {
    const std::vector<ModuleSpec> modules = specs();
    const std::vector<std::string> known = module_patterns(modules);
    int layers = 0;
    for (const ModuleSpec& module : modules) layers = std::max(layers, module.layer + 1);
    for (size_t i = 0; i < matched_.size(); ++i) {
      if (matched_[i] || rule(i).source == RuleSource::kDefault) continue;
      problems_.emplace_back(rule(i).where, "`" + rule(i).pattern + "` matches no module of this model",
                             mend_of(rule(i).pattern, known, layers));
    }
  }

  std::vector<ModuleSpec> specs() const {
    std::vector<ModuleSpec> specs;
    for (const PlannedModule& planned : resolved_.modules) specs.push_back(planned.module);
    return specs;
  }

  ResolvedPlan resolved_;
  std::vector<PlanPattern> patterns_;
  std::vector<bool> matched_;
  std::set<std::pair<size_t, size_t>> reported_;
  std::vector<Error> problems_;
};

}  // namespace

bool is_expert_parameter(Role role) {
  return role == Role::kExpertsGateUp || role == Role::kExpertsGateUpBias || role == Role::kExpertsDown ||
         role == Role::kExpertsDownBias;
}

ResolvedPlan resolve_plan(Plan plan, const ModelConfig& config, int tp_size) {
  return resolve_plan(std::move(plan), module_tree(config), tp_size);
}

ResolvedPlan resolve_plan(Plan plan, std::vector<ModuleSpec> modules, int tp_size) {
  // The rules of `weights:` are found as those of `tp_plan:` are.
  Plan formats;
  for (const WeightRule& rule : plan.weights)
    formats.rules.push_back({rule.pattern, Style::kReplicated, rule.where, rule.source});
  const ResolvedPlan with_formats = Resolver(std::move(formats), modules, tp_size).run();
  ResolvedPlan resolved = Resolver(std::move(plan), std::move(modules), tp_size).run();
  for (size_t i = 0; i < resolved.modules.size(); ++i) {
    const PlannedModule& found = with_formats.modules[i];
    resolved.modules[i].weight_rule = found.rule ? found.rule : found.experts_rule;
  }
  return resolved;
}

}  // namespace tp
