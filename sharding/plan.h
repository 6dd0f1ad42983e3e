#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharding/parameters.h"
#include "sharding/plan_pattern.h"
#include "sharding/style.h"
#include "sharding/weight_kind.h"

namespace tp {

// A tied lm_head with tp_size > 1: refused, copied, or one vocabulary-split tensor for embedding and head.
enum class TiedWeights { kReject, kUntie, kVocabParallel };

// Who wrote a rule. A later one beats an earlier one whatever the patterns are; among rules of one source the more specific
// pattern wins.
enum class RuleSource { kDefault, kFile, kCommandLine };

// `pattern: style` with the place it was written ("my.yaml:14:3", "--override", "plans/qwen3.yaml:9:3").
struct PlanRule {
  std::string pattern;
  Style style;
  std::string where;
  RuleSource source = RuleSource::kDefault;  // only a default rule may match nothing
};

// `pattern: format` below `weights:`.
struct WeightRule {
  std::string pattern;
  WeightKind kind = WeightKind::kStored;
  std::string where;
  RuleSource source = RuleSource::kDefault;
};

// A plan as written: the default rules of the model's family with the overrides beside them.
struct Plan {
  std::string name;  // what the user would call it: a file, or "default plan of qwen3"
  TiedWeights tied = TiedWeights::kReject;
  bool uneven = false;  // heads may be dealt out unevenly, in whole KV groups
  std::vector<PlanRule> rules;
  std::vector<WeightRule> weights;
  std::vector<std::string> notes;  // for stderr: an old style name was mapped, …
};

// One module with the style that the plan gives it (kReplicated when no rule matches).
struct PlannedModule {
  ModuleSpec module;
  Style style = Style::kReplicated;
  std::optional<size_t> rule;  // index into Plan::rules
  // Of the parameters of an experts module ("layers.*.mlp.experts.down_proj"): the style and rule of the module itself
  // ("layers.*.mlp.experts"), which says how the experts run.
  std::optional<Style> experts_style;
  std::optional<size_t> experts_rule;
  std::optional<size_t> weight_rule;      // index into Plan::weights
  WeightKind kind = WeightKind::kStored;  // settle_weight_kinds (quantization.h)
};

// True for the parameters of an experts module.
bool is_expert_parameter(Role role);

// A plan applied to a model: what every rank holds and which collectives run. Made by resolve_plan, proven by check_plan.
struct ResolvedPlan {
  Plan plan;
  int tp_size = 1;
  std::vector<PlannedModule> modules;  // in module_tree's order
};

// Gives every module its rule: the strongest source, then the fewest `*`. Throws Error (all problems in one text) for an
// override that matches nothing (near names offered) and for two equally good rules that match one module.
ResolvedPlan resolve_plan(Plan plan, const ModelConfig& config, int tp_size);
ResolvedPlan resolve_plan(Plan plan, std::vector<ModuleSpec> modules, int tp_size);

}  // namespace tp
