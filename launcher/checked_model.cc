#include "launcher/checked_model.h"

#include "launcher/model_path.h"
#include "launcher/program_path.h"
#include "sharding/parameters.h"
#include "sharding/plan_check.h"
#include "sharding/plan_suggest.h"
#include "sharding/quantization.h"
#include "sharding/quantized.h"

namespace tp {

PlanRequest plan_request(const Options& options) {
  PlanRequest request;
  request.plan = options.text("plan");
  request.overrides = options.texts("override");
  const std::string tied = options.text("tied");
  if (tied == "reject") request.tied = TiedWeights::kReject;
  if (tied == "untie") request.tied = TiedWeights::kUntie;
  if (tied == "vocab_parallel") request.tied = TiedWeights::kVocabParallel;
  return request;
}

ResolvedPlan valid_plan(const Options& options, const ModelConfig& config, int tp_size, bool lm_head_stored,
                        const Checkpoint* checkpoint) {
  Plan plan = load_or_suggest_plan(plan_request(options), config, plans_directory(), tp_size, lm_head_stored);
  ResolvedPlan resolved = resolve_plan(std::move(plan), config, tp_size);
  require_valid_plan(resolved, config, lm_head_stored);
  settle_weight_kinds(resolved, config, checkpoint, weight_kind(options.text("weights")));
  return resolved;
}

CheckedModel check_model(const Options& options, int tp_size) {
  CheckedModel model;
  model.dir = std::filesystem::absolute(resolve_model(options.text("model"), false));
  model.config = load_model_config(model.dir);
  model.plan_request = plan_request(options);
  if (!model.plan_request.plan.empty() && model.plan_request.plan != kSuggestedPlan) {
    model.plan_request.plan = std::filesystem::absolute(model.plan_request.plan);
  }
  model.checkpoint = open_checkpoint(model.dir);
  const std::vector<ModuleSpec> modules = module_tree(model.config);
  require_tensors(model.checkpoint, modules, model.config);
  model.lm_head_stored = has_lm_head(model.checkpoint, modules);
  model.plan = valid_plan(options, model.config, tp_size, model.lm_head_stored, &model.checkpoint);
  check_scales(model.checkpoint);
  resolve_dtype(options.text("dtype"), model.config, model.checkpoint);
  model.notes = model.plan.plan.notes;
  model.notes.insert(model.notes.end(), model.config.warnings.begin(), model.config.warnings.end());
  for (const std::string& note : unused_notes(model.checkpoint, modules)) {
    model.notes.push_back(model.dir.string() + ": " + note);
  }
  return model;
}

}  // namespace tp
