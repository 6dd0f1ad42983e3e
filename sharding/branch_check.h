#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharding/plan_findings.h"
#include "sharding/style_fit.h"

namespace tp {

// A branch of a block: linears that read the (whole) residual stream, something without parameters between, and one linear
// that leads back to it. Attention, an MLP and a shared expert are such branches.
struct Branch {
  std::string name;                      // "attention", "the MLP"
  std::string split_by;                  // "by heads", "by features"
  std::vector<const PlannedModule*> in;  // q, k, v; gate, up
  const PlannedModule* out = nullptr;    // o; down
  std::string split_fix;                 // the mend that splits the branch; empty when it cannot be split evenly
};

// Follows the layout from the linears of `in` to the output. The result is the layout between them; nullopt when something
// was found or a module's style does not fit it at all.
std::optional<Layout> check_branch(const Branch& branch, PlanFindings& findings);

// "set q_proj, k_proj, v_proj and o_proj to `replicated`".
std::string whole_fix(const Branch& branch);

// The short names of modules, joined.
std::string names_of(const std::vector<const PlannedModule*>& modules);

}  // namespace tp
