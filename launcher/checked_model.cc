#include "launcher/checked_model.h"

#include "launcher/model_path.h"
#include "launcher/program_path.h"
#include "sharding/parameters.h"
#include "sharding/plan_check.h"

namespace tp {

PlanRequest plan_request(const Options& options) {
  PlanRequest request;
  if (options.text("plan") != "auto") request.plan = options.text("plan");
  request.overrides = options.texts("override");
  const std::string tied = options.text("tied");
  if (tied == "reject") request.tied = TiedWeights::kReject;
  if (tied == "untie") request.tied = TiedWeights::kUntie;
  if (tied == "vocab_parallel") request.tied = TiedWeights::kVocabParallel;
  return request;
}

CheckedModel check_model(const Options& options, int tp_size) {
  CheckedModel model;
  model.dir = std::filesystem::absolute(resolve_model(options.text("model"), false));
  model.config = load_model_config(model.dir);
  model.plan_request = plan_request(options);
  if (!model.plan_request.plan.empty()) {
    model.plan_request.plan = std::filesystem::absolute(model.plan_request.plan);
  }
  model.plan = resolve_plan(load_plan(plan_request(options), model.config, plans_directory()), model.config, tp_size);
  model.checkpoint = open_checkpoint(model.dir);
  require_tensors(model.checkpoint, module_tree(model.config), model.config);
  require_valid_plan(model.plan, model.config, model.checkpoint.find("lm_head.weight") != nullptr);
  resolve_dtype(options.text("dtype"), model.config, model.checkpoint);
  return model;
}

}  // namespace tp
