#include "sharding/plan_yaml.h"

#include <algorithm>

#include "sharding/error.h"
#include "sharding/near_names.h"
#include "sharding/plan_file.h"

namespace tp {
namespace {

constexpr std::pair<TiedWeights, std::string_view> kTiedNames[] = {
    {TiedWeights::kReject, "reject"}, {TiedWeights::kUntie, "untie"}, {TiedWeights::kVocabParallel, "vocab_parallel"}};

// A default plan may build on another one; none is deeper than this.
constexpr int kMaxExtends = 4;

std::vector<std::string> default_plan_names(const std::filesystem::path& plans_dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(plans_dir, error)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

class PlanLoader {
 public:
  PlanLoader(const ModelConfig& config, const std::filesystem::path& plans_dir) : config_(config), plans_dir_(plans_dir) {}

  Plan load(const PlanRequest& request) {
    PlanFile file;
    plan_.name = "default plan of " + config_.model_type;
    if (!request.plan.empty()) {
      plan_.name = request.plan;
      file = parse_plan(read_plan_text(request.plan, request.plan), request.plan, RuleSource::kFile, problems_);
    }
    if (file.extends) {
      add_default(*file.extends, file.extends_where, 0);
    } else {
      add_default(config_.model_type, config_.path, 0);
    }
    add_embedding_rule();
    add(std::move(file));
    for (const std::string& text : request.overrides) add_override(text);
    if (request.tied) plan_.tied = *request.tied;
    if (!problems_.empty()) {
      add_unmatched();
      throw_all(problems_);
    }
    return std::move(plan_);
  }

 private:
  // What is wrong with the names in those rules that could be read, to be told at once with the rest.
  void add_unmatched() {
    Plan plan = plan_;
    plan.rules.clear();
    plan.weights.clear();
    for (const PlanRule& rule : plan_.rules) {
      const auto same = [&](const PlanRule& other) { return other.pattern == rule.pattern && other.source == rule.source; };
      if (std::ranges::none_of(plan.rules, same)) plan.rules.push_back(rule);  // a second one has been told of
    }
    try {
      resolve_plan(std::move(plan), config_, /*tp_size=*/1);
    } catch (const Error& error) {
      problems_.push_back(error);
    }
  }

  void add(PlanFile file) {
    if (file.tied) plan_.tied = *file.tied;
    if (file.uneven) plan_.uneven = *file.uneven;
    std::ranges::move(file.rules, std::back_inserter(plan_.rules));
    std::ranges::move(file.weights, std::back_inserter(plan_.weights));
    std::ranges::move(file.notes, std::back_inserter(plan_.notes));
  }

  // The rules of plans/NAME.yaml, below those the file builds on: its own replace theirs of the same pattern.
  void add_default(const std::string& name, const std::string& where, int depth) {
    const std::vector<std::string> known = default_plan_names(plans_dir_);
    if (std::ranges::find(known, name) == known.end()) {
      problems_.emplace_back(where, "there is no default plan `" + name + "`", did_you_mean(name, known));
      return;
    }
    const std::string shown = "plans/" + name + ".yaml";
    if (depth > kMaxExtends) throw Error(shown, "the default plans extend each other in a circle");
    PlanFile file = parse_plan(read_plan_text(plans_dir_ / (name + ".yaml"), shown), shown, RuleSource::kDefault, problems_);
    if (file.extends) add_default(*file.extends, file.extends_where, depth + 1);
    for (const PlanRule& rule : file.rules) {
      std::erase_if(plan_.rules, [&](const PlanRule& old) { return PlanPattern(old.pattern) == PlanPattern(rule.pattern); });
    }
    add(std::move(file));
  }

  // transformers adds this rule to every plan that does not name embed_tokens.
  void add_embedding_rule() {
    const auto names_it = [](const PlanRule& rule) { return pattern_matches(rule.pattern, "embed_tokens"); };
    if (std::ranges::any_of(plan_.rules, names_it)) return;
    plan_.rules.push_back({"embed_tokens", Style::kEmbeddingRowwise, plan_.name, RuleSource::kDefault});
  }

  void add_override(const std::string& text) {
    const std::string where = "--override " + text;
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      problems_.emplace_back(where, "not of the form PATTERN=STYLE", "for example `--override lm_head=replicated`");
      return;
    }
    auto rule = make_rule(text.substr(0, equals), where, text.substr(equals + 1), where, RuleSource::kCommandLine, plan_.notes,
                          problems_);
    if (rule) plan_.rules.push_back(std::move(*rule));
  }

  const ModelConfig& config_;
  const std::filesystem::path& plans_dir_;
  Plan plan_;
  std::vector<Error> problems_;
};

}  // namespace

Plan load_plan(const PlanRequest& request, const ModelConfig& config, const std::filesystem::path& plans_dir) {
  return PlanLoader(config, plans_dir).load(request);
}

std::string_view tied_weights_name(TiedWeights tied) {
  return std::ranges::find(kTiedNames, tied, &std::pair<TiedWeights, std::string_view>::first)->second;
}

std::optional<TiedWeights> tied_weights_from_name(std::string_view name) {
  const auto* found = std::ranges::find(kTiedNames, name, &std::pair<TiedWeights, std::string_view>::second);
  if (found == std::end(kTiedNames)) return std::nullopt;
  return found->first;
}

}  // namespace tp
