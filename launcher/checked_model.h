#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/options.h"
#include "sharding/checkpoint.h"
#include "sharding/model_config.h"
#include "sharding/plan.h"
#include "sharding/plan_yaml.h"

namespace tp {

// A model and plan that have been proven to fit one another for tp_size ranks; no weight has been read.
struct CheckedModel {
  std::filesystem::path dir;
  ModelConfig config;
  PlanRequest plan_request;
  ResolvedPlan plan;
  Checkpoint checkpoint;
  bool lm_head_stored = false;
  std::vector<std::string> notes;  // for stderr: of the plan, config.json and the checkpoint
};

// --plan, --override and --tied.
PlanRequest plan_request(const Options& options);

// The plan that they ask for, proven for this model, with the kinds of its weights (--weights; `checkpoint` may be nullptr).
// Throws Error that lists all problems.
ResolvedPlan valid_plan(const Options& options, const ModelConfig& config, int tp_size, bool lm_head_stored,
                        const Checkpoint* checkpoint);

// Reads config, headers and plan of --model and checks all of it. Throws Error.
CheckedModel check_model(const Options& options, int tp_size);

}  // namespace tp
