#pragma once

#include <string>
#include <vector>

namespace tp {

// A pattern of a tp_plan: dotted components, of which `*` stands for any one.
class PlanPattern {
 public:
  explicit PlanPattern(const std::string& text);

  // Whole names only; a leading base-model name ("model.", "gpt_neox.", "transformer.") is optional on both sides.
  bool matches(const std::vector<std::string>& components) const;
  // Components that are `*`: of two patterns that match a name the one with fewer is the more specific.
  int stars() const;
  bool operator==(const PlanPattern&) const = default;

 private:
  std::vector<std::string> components_;
};

// The components of a dotted name, without the base-model name.
std::vector<std::string> name_components(const std::string& name);

// True when `pattern` matches the dotted name.
bool pattern_matches(const std::string& pattern, const std::string& name);

// The pattern for all layers of a module's name: "model.layers.3.mlp.up_proj" -> "layers.*.mlp.up_proj".
std::string pattern_of(const std::string& name);

// What is wrong with a pattern's spelling; empty when nothing is.
std::string pattern_fault(const std::string& pattern);

}  // namespace tp
