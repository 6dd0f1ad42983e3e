#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sharding/plan.h"

namespace tp {

// What the command line says about the plan.
struct PlanRequest {
  std::string plan;                    // --plan: a file; empty = the default of the model's family
  std::vector<std::string> overrides;  // --override PATTERN=STYLE
  std::optional<TiedWeights> tied;     // --tied; wins over the file
};

// Reads the family's default from `plans_dir` (installed beside the program; plans_dir.h finds it), the user's file and the
// overrides, later ones winning. A bare mapping of patterns to styles is a plan file too. Throws Error with file:line:column
// for what YAML cannot parse, an unknown key or style (near names), a duplicate key, a wrong version, an unknown `extends`.
Plan load_plan(const PlanRequest& request, const ModelConfig& config, const std::filesystem::path& plans_dir);

}  // namespace tp
