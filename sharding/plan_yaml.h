#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sharding/plan.h"

namespace tp {

// What the command line says about the plan.
struct PlanRequest {
  std::string plan;                    // --plan: a file, or as plan_suggest.h has it; empty = the default of the model's family
  std::vector<std::string> overrides;  // --override PATTERN=STYLE
  std::optional<TiedWeights> tied;     // --tied; wins over the file
};

// Reads the family's default from `plans_dir` (installed beside the program), the user's file and the overrides; the schema is in
// plans/README.md. A bare mapping of patterns to styles is a plan file too, and so is an empty file. `embed_tokens:
// embedding_rowwise` is added to every default plan, as transformers does. Throws Error with file:line:column, all problems
// in one: what YAML cannot parse, an unknown key or style (near names), a style that is not supported (with the reason), a
// duplicate key, a wrong version, an unknown `extends`, a malformed pattern.
Plan load_plan(const PlanRequest& request, const ModelConfig& config, const std::filesystem::path& plans_dir);

// The name that `tied_weights:` and `--tied` use ("vocab_parallel"), and back; nullopt for what is none.
std::string_view tied_weights_name(TiedWeights tied);
std::optional<TiedWeights> tied_weights_from_name(std::string_view name);

}  // namespace tp
