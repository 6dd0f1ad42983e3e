#include "sharding/plan_pattern.h"

#include <algorithm>
#include <sstream>

namespace tp {
namespace {

std::vector<std::string> split(const std::string& name) {
  std::vector<std::string> components(1);
  for (char c : name) {
    if (c == '.') {
      components.emplace_back();
    } else {
      components.back() += c;
    }
  }
  return components;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

PlanPattern::PlanPattern(const std::string& text) : components_(name_components(text)) {}

bool PlanPattern::matches(const std::vector<std::string>& components) const {
  return std::ranges::equal(components_, components,
                            [](const std::string& own, const std::string& other) { return own == "*" || own == other; });
}

int PlanPattern::stars() const {
  return static_cast<int>(std::ranges::count(components_, "*"));
}

std::vector<std::string> name_components(const std::string& name) {
  std::vector<std::string> components = split(name);
  const std::string& first = components.front();
  if (components.size() > 1 && (first == "model" || first == "gpt_neox" || first == "transformer")) {
    components.erase(components.begin());
  }
  return components;
}

bool pattern_matches(const std::string& pattern, const std::string& name) {
  return PlanPattern(pattern).matches(name_components(name));
}

std::string pattern_of(const std::string& name) {
  std::string pattern;
  for (const std::string& component : name_components(name)) {
    pattern += (pattern.empty() ? "" : ".") + (is_number(component) ? "*" : component);
  }
  return pattern;
}

std::string pattern_fault(const std::string& pattern) {
  for (const std::string& component : split(pattern)) {
    if (component.empty()) return "a pattern is a dotted name without empty parts";
    if (component.size() > 1 && component.find('*') != std::string::npos) {
      return "`*` stands for one whole part of the name, never for a piece of it";
    }
  }
  return "";
}

}  // namespace tp
