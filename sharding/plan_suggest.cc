#include "sharding/plan_suggest.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sharding/plan_check.h"
#include "sharding/plan_report.h"
#include "sharding/report_groups.h"

namespace tp {
namespace {

// One way to run a part of the model: the style of each of its roles, and what is good about it.
struct Option {
  std::map<Role, Style> styles;
  Style experts = Style::kReplicated;
  bool uneven = false;
  std::string reason;
};

struct Part {
  std::vector<Role> roles;
  std::vector<Option> options;
};

std::vector<Part> parts_to_choose() {
  const auto attention = [](Style q, Style kv, Style qkv, Style o) {
    return std::map<Role, Style>{{Role::kQ, q},    {Role::kQB, q},    {Role::kK, kv}, {Role::kV, kv},
                                 {Role::kKvB, kv}, {Role::kQkv, qkv}, {Role::kO, o},  {Role::kAttentionGate, q}};
  };
  using enum Style;
  const auto by_heads = attention(kColwise, kColwise, kPackedColwise, kRowwise);
  const std::vector<Option> attentions = {
      {by_heads, kReplicated, false, "attention split by heads"},
      {attention(kColwise, kColwise, kColwise, kRowwise), kReplicated, false, "attention split by heads"},
      {attention(kColwise, kKvReplicated, kKvReplicated, kRowwise), kReplicated, false,
       "every chip keeps one KV head, several chips the same one"},
      {attention(kColwiseGatherOutput, kColwiseGatherOutput, kColwiseGatherOutput, kRowwiseSplitInput), kReplicated, false,
       "weights split, every chip runs all heads"},
      {by_heads, kReplicated, true, "whole KV groups, fewer on the last chips"},
      {attention(kReplicated, kReplicated, kReplicated, kReplicated), kReplicated, false, "attention whole on every chip"}};
  const auto mlp = [](Style in, Style fused, Style out) {
    return std::map<Role, Style>{
        {Role::kGate, in},       {Role::kUp, in},       {Role::kGateUp, fused},       {Role::kDown, out},
        {Role::kSharedGate, in}, {Role::kSharedUp, in}, {Role::kSharedGateUp, fused}, {Role::kSharedDown, out}};
  };
  const auto experts = [](Style gate_up, Style down) {
    return std::map<Role, Style>{{Role::kExpertsGateUp, gate_up},
                                 {Role::kExpertsGateUpBias, gate_up},
                                 {Role::kExpertsDown, down},
                                 {Role::kExpertsDownBias, down}};
  };
  return {{{Role::kQ, Role::kQB, Role::kK, Role::kV, Role::kKvB, Role::kQkv, Role::kO, Role::kAttentionGate}, attentions},
          {{Role::kGate, Role::kUp, Role::kGateUp, Role::kDown, Role::kSharedGate, Role::kSharedUp, Role::kSharedGateUp,
            Role::kSharedDown},
           {{mlp(kColwise, kPackedColwise, kRowwise), kReplicated, false, "MLP split by features, one sum a layer"}}},
          {{Role::kExpertsGateUp, Role::kExpertsGateUpBias, Role::kExpertsDown, Role::kExpertsDownBias},
           {{experts(kPackedColwise, kRowwise), kMoeTpExperts, false, "every expert split by features"},
            {experts(kPackedRowwise, kColwise), kMoeTpExperts, false, "every expert split by features"},
            {experts(kGroupedGemm, kGroupedGemm), kEpDispatchExperts, false, "whole experts dealt out"}}}};
}

class Suggester {
 public:
  Suggester(const ModelConfig& config, const std::filesystem::path& plans_dir, int tp_size, bool lm_head_stored)
      : config_(config), tp_size_(tp_size), lm_head_stored_(lm_head_stored), modules_(module_tree(config)) {
    default_ = load_plan({}, config, plans_dir);
    if (config.tie_word_embeddings && tp_size > 1) {
      default_.tied = lm_head_stored ? TiedWeights::kUntie : TiedWeights::kVocabParallel;
    }
  }

  PlanSuggestion run() {
    Plan best = default_;
    for (const Part& part : parts_to_choose()) choose(part);
    for (const auto& [pattern, style] : changed_) best.rules.push_back(rule(pattern, style));
    best.uneven = uneven_;
    best.name = "suggested plan of " + config_.model_type;
    require_valid_plan(resolve_plan(best, modules_, tp_size_), config_, lm_head_stored_);
    return {best, yaml(best)};
  }

 private:
  using Rules = std::vector<std::pair<std::string, Style>>;

  static PlanRule rule(const std::string& pattern, Style style) { return {pattern, style, "suggested", RuleSource::kFile}; }

  bool has_role(const Part& part, Role role) const { return std::ranges::find(part.roles, role) != part.roles.end(); }

  static std::string experts_of(const std::string& pattern) { return pattern.substr(0, pattern.find_last_of('.')); }

  // The rules of an option, one for each pattern of the part's modules.
  Rules rules_of(const Part& part, const Option& option) const {
    Rules rules;
    std::set<std::string> seen;
    const auto add = [&](const std::string& pattern, Style style) {
      if (seen.insert(pattern).second) rules.emplace_back(pattern, style);
    };
    for (const ModuleSpec& module : modules_) {
      if (!has_role(part, module.role)) continue;
      add(pattern_of(module.name), option.styles.at(module.role));
      if (is_expert_parameter(module.role)) add(experts_of(pattern_of(module.name)), option.experts);
    }
    return rules;
  }

  // Memory, then communication, of the model in which everything but this part is whole; nullopt-like when not valid.
  bool cost_of(const Plan& plan, const Part& part, std::pair<int64_t, int64_t>& cost) const {
    std::vector<ModuleSpec> own;
    for (const ModuleSpec& module : modules_) {
      if (module.layer >= 0) own.push_back(module);
    }
    const ResolvedPlan resolved = resolve_plan(plan, own, tp_size_);
    for (const PlanProblem& problem : check_plan(resolved, config_, lm_head_stored_)) {
      if (concerns(problem, part)) return false;
    }
    try {
      const PlanReport report = plan_report(resolved, config_, DType::kBF16, lm_head_stored_);
      int64_t bytes = 0;
      for (const auto& [op, total] : report.totals) bytes += total.bytes;
      cost = {report.bytes_per_chip + report.cache_bytes_per_token * config_.max_position_embeddings, bytes};
      return true;
    } catch (const std::logic_error&) {  // another part's default cannot be cut
      return false;
    }
  }

  bool concerns(const PlanProblem& problem, const Part& part) const {
    for (const ModuleSpec& module : modules_) {
      if (has_role(part, module.role) && problem.what.starts_with(pattern_of(module.name))) return true;
      if (has_role(part, module.role) && is_expert_parameter(module.role) &&
          problem.what.starts_with(experts_of(pattern_of(module.name)))) {
        return true;
      }
    }
    return false;
  }

  void choose(const Part& part) {
    Plan whole = default_;
    for (const Part& other : parts_to_choose()) {
      if (other.roles == part.roles) continue;
      Option replicated;
      for (Role role : other.roles) replicated.styles[role] = Style::kReplicated;
      for (const auto& [pattern, style] : rules_of(other, replicated)) whole.rules.push_back(rule(pattern, style));
    }
    std::pair<int64_t, int64_t> best_cost, cost;
    bool found = cost_of(whole, part, best_cost);  // the default itself
    const Option* best = nullptr;
    const Part options = part;
    for (const Option& option : options.options) {
      Plan plan = whole;
      plan.uneven = option.uneven;
      for (const auto& [pattern, style] : rules_of(part, option)) plan.rules.push_back(rule(pattern, style));
      if (!cost_of(plan, part, cost) || (found && cost >= best_cost)) continue;
      found = true;
      best_cost = cost;
      best = &option;
    }
    if (best == nullptr) return;
    uneven_ = uneven_ || best->uneven;
    for (const auto& [pattern, style] : rules_of(part, *best)) {
      if (style == default_style(pattern)) continue;
      changed_.emplace_back(pattern, style);
      reasons_[pattern] = best->reason;
    }
  }

  Style default_style(const std::string& pattern) const {
    for (const PlanRule& rule : default_.rules) {
      if (rule.pattern == pattern) return rule.style;
    }
    return Style::kReplicated;
  }

  std::string yaml(const Plan& plan) const {
    const PlanReport report = plan_report(resolve_plan(plan, modules_, tp_size_), config_, DType::kBF16, lm_head_stored_);
    std::string text =
        "# " + config_.model_type + " on " + std::to_string(tp_size_) + (tp_size_ == 1 ? " chip" : " chips") +
        ": the valid plan with the least memory per chip, then the least communication.\n# Per chip in bfloat16: " +
        size_text(report.bytes_per_chip) + " of weights, " + size_text(report.cache_bytes_per_token) +
        " of KV cache a token.\nversion: 1\nextends: " + config_.model_type + "\n";
    if (plan.tied != TiedWeights::kReject) {
      text += "tied_weights: " + std::string(tied_weights_name(plan.tied)) +
              (plan.tied == TiedWeights::kUntie ? "  # the checkpoint has a tensor for the head\n"
                                                : "  # one tensor, split by vocabulary, for embedding and head\n");
    }
    if (plan.uneven) text += "uneven: allow  # the chips do not divide the heads\n";
    if (changed_.empty()) return text + "# Its rules are those of the default plan.\n";
    text += "tp_plan:\n";
    for (const auto& [pattern, style] : changed_) {
      text += "  " + pattern + ": " + std::string(style_info(style).name) + "  # " + reasons_.at(pattern) + "\n";
    }
    return text;
  }

  const ModelConfig& config_;
  int tp_size_;
  bool lm_head_stored_;
  std::vector<ModuleSpec> modules_;
  Plan default_;
  Rules changed_;
  std::map<std::string, std::string> reasons_;
  bool uneven_ = false;
};

}  // namespace

PlanSuggestion suggest_plan(const ModelConfig& config, const std::filesystem::path& plans_dir, int tp_size,
                            bool lm_head_stored) {
  return Suggester(config, plans_dir, tp_size, lm_head_stored).run();
}

Plan load_or_suggest_plan(const PlanRequest& request, const ModelConfig& config, const std::filesystem::path& plans_dir,
                          int tp_size, bool lm_head_stored) {
  if (request.plan != kSuggestedPlan) return load_plan(request, config, plans_dir);
  PlanRequest rest = request;
  rest.plan.clear();
  const Plan overridden = load_plan(rest, config, plans_dir);
  Plan plan = suggest_plan(config, plans_dir, tp_size, lm_head_stored).plan;
  for (const PlanRule& rule : overridden.rules) {
    if (rule.source == RuleSource::kCommandLine) plan.rules.push_back(rule);
  }
  if (request.tied) plan.tied = *request.tied;
  std::string changes;
  const auto add = [&](const std::string& key, std::string_view value) {
    changes += (changes.empty() ? "" : ", ") + key + ": " + std::string(value);
  };
  if (plan.tied != overridden.tied) add("tied_weights", tied_weights_name(plan.tied));
  if (plan.uneven) add("uneven", "allow");
  for (const PlanRule& rule : plan.rules) {
    if (rule.source == RuleSource::kFile) add(rule.pattern, style_info(rule.style).name);
  }
  plan.notes.push_back("--plan auto: " + plan.name + " (" + (changes.empty() ? "the rules of the default plan" : changes) +
                       ")");
  return plan;
}

}  // namespace tp
