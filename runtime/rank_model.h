#pragma once

#include <functional>
#include <string>

#include "runtime/collectives.h"
#include "runtime/parameter_table.h"
#include "runtime/weights.h"
#include "sharding/plan_yaml.h"

namespace tp {

struct ModelRequest {
  std::string model_dir;
  PlanRequest plan;
  std::string plans_dir;
  std::string dtype = "auto";
  WeightKind kind = WeightKind::kStored;  // --weights
  LoadOptions load;
};

// One rank's shard of a model, loaded.
struct RankModel {
  ModelConfig config;
  ResolvedPlan plan;
  ParameterTable table;
  Weights weights;
  double load_s = 0;
};

// Reads config, plan and headers, checks the plan, makes sure that all ranks see the same (a hash of config, plan and tensor
// table; design.md), then loads this rank's part. Throws Error.
RankModel load_rank_model(const ModelRequest& request, Communicator& communicator);

}  // namespace tp
