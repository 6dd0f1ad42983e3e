#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sharding/plan.h"
#include "sharding/plan_yaml.h"

namespace tp {

struct PlanSuggestion {
  Plan plan;         // the family's default with the suggested rules over it
  std::string yaml;  // a plan file that says the same, with a comment on each line that is not the default
};

// The valid plan that needs least memory per chip (weights, and a KV cache of max_position_embeddings positions), then least
// communication per token. Attention, MLPs and experts are chosen each on its own: whole, split by heads or features, gathered,
// with replicated KV heads, dealt out unevenly, by expert.
PlanSuggestion suggest_plan(const ModelConfig& config, const std::filesystem::path& plans_dir, int tp_size,
                            bool lm_head_stored);

// What PlanRequest::plan says for the suggested plan.
inline constexpr std::string_view kSuggestedPlan = "auto";

// load_plan, where `--plan auto` is the suggested plan; one note says so, with the rules that are not the default's.
Plan load_or_suggest_plan(const PlanRequest& request, const ModelConfig& config, const std::filesystem::path& plans_dir,
                          int tp_size, bool lm_head_stored);

}  // namespace tp
