#include "tests/sharding/plan_verdict.h"

#include <filesystem>

#include "sharding/error.h"
#include "sharding/plan_check.h"
#include "sharding/plan_yaml.h"

namespace tp {

ResolvedPlan resolved(const PlanSetting& s) {
  ModelConfig config = s.model.config();
  config.model_type = s.family;
  Plan plan = load_plan({.overrides = s.overrides, .tied = s.tied}, config, std::filesystem::path(TPRUN_SOURCE_DIR) / "plans");
  plan.uneven = s.uneven;
  return resolve_plan(std::move(plan), s.model.modules(), s.tp_size);
}

std::string verdict(const PlanSetting& s) {
  ModelConfig config = s.model.config();
  config.tie_word_embeddings = s.tie_word_embeddings;
  try {
    require_valid_plan(resolved(s), config, s.lm_head_stored);
  } catch (const Error& e) {
    return e.text();
  }
  return "accepted";
}

}  // namespace tp
