#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sharding/error.h"
#include "sharding/plan.h"

namespace tp {

// What one plan file says; what it does not mention is absent.
struct PlanFile {
  std::optional<std::string> extends;
  std::string extends_where;
  std::optional<TiedWeights> tied;
  std::optional<bool> uneven;
  std::vector<PlanRule> rules;
  std::vector<WeightRule> weights;
  std::vector<std::string> notes;
};

// Reads plan text: the schema of plans/README.md or a bare mapping of patterns to styles. `name` is the file in messages.
// What is wrong is added to `problems`; only text that is no YAML at all throws.
PlanFile parse_plan(const std::string& text, const std::string& name, RuleSource source, std::vector<Error>& problems);

// One rule from its two texts; nullopt and a problem when the pattern or the style is not right. `pattern_where` and
// `style_where` say where they were written.
std::optional<PlanRule> make_rule(const std::string& pattern, const std::string& pattern_where, const std::string& style,
                                  const std::string& style_where, RuleSource source, std::vector<std::string>& notes,
                                  std::vector<Error>& problems);

// The file's text. Throws Error: missing, a directory, unreadable, too large.
std::string read_plan_text(const std::filesystem::path& path, const std::string& name);

}  // namespace tp
