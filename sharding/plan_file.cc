#include "sharding/plan_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>

#include "sharding/near_names.h"
#include "sharding/plan_kernels.h"
#include "sharding/plan_yaml.h"
#include "sharding/yaml_document.h"

namespace tp {
namespace {

const std::vector<std::string>& plan_keys() {
  static const std::vector<std::string> keys = {"version", "extends", "tied_weights", "uneven",
                                                "kernels", "tp_plan", "weights"};
  return keys;
}

constexpr std::pair<std::string_view, WeightKind> kFormats[] = {{"bf16", WeightKind::kStored},
                                                                {"int8", WeightKind::kInt8},
                                                                {"int4", WeightKind::kInt4Group32},
                                                                {"int4-128", WeightKind::kInt4Group128}};

bool is_plan_key(const std::string& name) {
  return std::ranges::find(plan_keys(), name) != plan_keys().end();
}

// What a value is, for "expected …, found …".
std::string description(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "`" + node.text + "`";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a mapping";
  }
  return "";
}

class PlanReader {
 public:
  PlanReader(std::string name, RuleSource source, std::vector<Error>& problems)
      : name_(std::move(name)), source_(source), problems_(problems) {}

  PlanFile read(const YamlNode& root) {
    if (root.kind == YamlNode::Kind::kNull) return {};
    if (root.kind != YamlNode::Kind::kMap) {
      problem(root, "a plan is a mapping, found " + description(root), "write `tp_plan:` and below it `pattern: style` lines");
      return {};
    }
    refuse_duplicates(root);
    const bool bare = std::ranges::none_of(root.entries, [](const auto& entry) { return is_plan_key(entry.first.text); });
    for (const auto& [key, value] : root.entries) {
      if (!bare || looks_like_misspelt_key(key, value)) {
        read_key(key, value);
      } else {
        read_rule(key, value);
      }
    }
    return std::move(file_);
  }

 private:
  void problem(const YamlNode& node, std::string what, std::string fix = "") {
    problems_.emplace_back(yaml_place(name_, node), std::move(what), std::move(fix));
  }

  // In a file without any known key `tp_plann:` is a typo, not a pattern.
  static bool looks_like_misspelt_key(const YamlNode& key, const YamlNode& value) {
    const bool is_rule = value.kind == YamlNode::Kind::kScalar && style_from_name(value.text).has_value();
    return !is_rule && key.text.find('.') == std::string::npos && !near_names(key.text, plan_keys()).empty();
  }

  void refuse_duplicates(const YamlNode& map) {
    std::map<std::string, const YamlNode*> first;
    for (const auto& [key, value] : map.entries) {
      const auto [it, inserted] = first.emplace(key.text, &key);
      if (inserted) continue;
      problem(key, "duplicate key `" + key.text + "`, first on line " + std::to_string(it->second->line), "remove one of them");
    }
  }

  void read_key(const YamlNode& key, const YamlNode& value) {
    if (key.text == "version") return read_version(value);
    if (key.text == "extends") return read_extends(value);
    if (key.text == "tied_weights") return read_tied(value);
    if (key.text == "uneven") return read_uneven(value);
    // Not about shards: who runs the plan reads them; here they are only checked.
    if (key.text == "kernels") return static_cast<void>(parse_plan_kernels(value, name_, problems_));
    if (key.text == "tp_plan") return read_rules(value);
    if (key.text == "weights") return read_weights(value);
    std::string fix = did_you_mean(key.text, plan_keys());
    if (fix.empty() && value.kind == YamlNode::Kind::kScalar && style_from_name(value.text)) fix = "rules go below `tp_plan:`";
    if (fix.empty()) fix = "the keys of a plan are " + quoted_list(plan_keys());
    problem(key, "unknown key `" + key.text + "`", fix);
  }

  void read_version(const YamlNode& value) {
    if (value.text != "1") problem(value, "version " + description(value) + " is not known", "write `version: 1`");
  }

  void read_extends(const YamlNode& value) {
    if (value.kind != YamlNode::Kind::kScalar || value.text.empty()) {
      return problem(value, "`extends` is the name of a default plan, found " + description(value));
    }
    file_.extends = value.text;
    file_.extends_where = yaml_place(name_, value);
  }

  void read_tied(const YamlNode& value) {
    file_.tied = tied_weights_from_name(value.text);
    if (!file_.tied) problem(value, "`tied_weights` is `reject`, `untie` or `vocab_parallel`, found " + description(value));
  }

  void read_uneven(const YamlNode& value) {
    file_.uneven = value.text == "allow";
    if (value.text != "allow" && value.text != "reject") {
      problem(value, "`uneven` is `reject` or `allow`, found " + description(value));
    }
  }

  void read_rules(const YamlNode& value) {
    if (value.kind == YamlNode::Kind::kNull) return;
    if (value.kind != YamlNode::Kind::kMap) {
      return problem(value, "`tp_plan` is a mapping of patterns to styles, found " + description(value));
    }
    refuse_duplicates(value);
    for (const auto& [pattern, style] : value.entries) read_rule(pattern, style);
  }

  void read_rule(const YamlNode& pattern, const YamlNode& style) {
    if (style.kind != YamlNode::Kind::kScalar) {
      return problem(style, "`" + pattern.text + "` needs the name of a style, found " + description(style),
                     "write one line `pattern: style` for each module");
    }
    auto rule = make_rule(pattern.text, yaml_place(name_, pattern), style.text, yaml_place(name_, style), source_, file_.notes,
                          problems_);
    if (rule) file_.rules.push_back(std::move(*rule));
  }

  void read_weights(const YamlNode& value) {
    if (value.kind == YamlNode::Kind::kNull) return;
    if (value.kind != YamlNode::Kind::kMap) {
      return problem(value, "`weights` is a mapping of patterns to formats, found " + description(value));
    }
    refuse_duplicates(value);
    for (const auto& [pattern, format] : value.entries) read_format(pattern, format);
  }

  void read_format(const YamlNode& pattern, const YamlNode& format) {
    const std::string text = format.kind == YamlNode::Kind::kScalar ? format.text : "";
    const auto* const found = std::ranges::find(kFormats, text, &std::pair<std::string_view, WeightKind>::first);
    if (found == std::end(kFormats)) {
      std::vector<std::string> names;
      for (const auto& [name, kind] : kFormats) names.emplace_back(name);
      const std::string near = did_you_mean(text, names);
      problem(format, "unknown format " + description(format), near.empty() ? "the formats are " + quoted_list(names) : near);
    }
    if (const std::string fault = pattern_fault(pattern.text); !fault.empty())
      return problem(pattern, "`" + pattern.text + "` is not a pattern", fault);
    if (found != std::end(kFormats))
      file_.weights.push_back({pattern.text, found->second, yaml_place(name_, pattern), source_});
  }

  std::string name_;
  RuleSource source_;
  std::vector<Error>& problems_;
  PlanFile file_;
};

}  // namespace

PlanFile parse_plan(const std::string& text, const std::string& name, RuleSource source, std::vector<Error>& problems) {
  return PlanReader(name, source, problems).read(parse_yaml(text, name));
}

std::optional<PlanRule> make_rule(const std::string& pattern, const std::string& pattern_where, const std::string& style,
                                  const std::string& style_where, RuleSource source, std::vector<std::string>& notes,
                                  std::vector<Error>& problems) {
  const size_t before = problems.size();
  if (const std::string fault = pattern_fault(pattern); !fault.empty()) {
    problems.emplace_back(pattern_where, "`" + pattern + "` is not a pattern", fault);
  }
  bool old_name = false;
  const std::optional<Style> found = style_from_name(style, &old_name);
  if (!found) {
    const std::string near = did_you_mean(style, style_names());
    problems.emplace_back(style_where, "unknown style `" + style + "`",
                          near.empty() ? "the styles are " + quoted_list(style_names()) : near);
  } else if (const StyleInfo& info = style_info(*found); !info.supported()) {
    problems.emplace_back(style_where, "style `" + style + "` is not supported: " + std::string(info.reason),
                          "leave the rule out, or use `replicated`");
  } else if (old_name) {
    notes.push_back(style_where + ": `" + style + "` is the older name of `" + std::string(info.name) + "`");
  }
  if (problems.size() > before) return std::nullopt;
  return PlanRule{pattern, *found, pattern_where, source};
}

std::string read_plan_text(const std::filesystem::path& path, const std::string& name) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw Error(name, "no such plan file", "name a YAML file; plans/README.md says what stands in it");
  if (!std::filesystem::is_regular_file(path, error)) throw Error(name, "not a file", "name a plan file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(name, "the plan file cannot be read", "make it readable, or name another file");
  std::string text(kMaxYamlBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kMaxYamlBytes)
    throw Error(name, "too large for a plan (over " + std::to_string(kMaxYamlBytes) + " bytes)", "name a plan file");
  return text;
}

}  // namespace tp
