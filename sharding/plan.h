#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sharding/parameters.h"
#include "sharding/style.h"

namespace tp {

enum class TiedWeights { kReject, kUntie, kVocabParallel };

// `pattern: style` with the place it was written ("my.yaml:14:3", "--override", "plans/qwen3.yaml:9:3").
struct PlanRule {
  std::string pattern;
  Style style;
  std::string where;
  bool is_override = false;  // overrides must match something, default rules need not
};

// A plan as written: the default rules of the model's family with the overrides laid over them.
struct Plan {
  std::string name;  // what the user would call it: a file, or "default plan of qwen3"
  TiedWeights tied = TiedWeights::kReject;
  std::vector<PlanRule> rules;
  std::vector<std::string> notes;  // for stderr: an old style name was mapped, …
};

// One module with the style that the plan gives it (kReplicated when no rule matches).
struct PlannedModule {
  ModuleSpec module;
  Style style = Style::kReplicated;
  std::optional<size_t> rule;  // index into Plan::rules
};

// A plan applied to a model: what every rank holds and which collectives run. Made by resolve_plan, proven by check_plan.
struct ResolvedPlan {
  Plan plan;
  int tp_size = 1;
  std::vector<PlannedModule> modules;  // in module_tree's order
};

// True when `pattern` matches the dotted name; `*` is one whole component, a leading "model." is optional on both sides.
bool pattern_matches(const std::string& pattern, const std::string& name);

// Gives every module its most specific matching rule. Throws Error (all problems in one text) for an override that matches
// nothing (near names offered), two equally specific rules that match one module, an unsupported style.
ResolvedPlan resolve_plan(Plan plan, const ModelConfig& config, int tp_size);

}  // namespace tp
