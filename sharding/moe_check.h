#pragma once

#include "sharding/layer_modules.h"
#include "sharding/plan_findings.h"

namespace tp {

// The experts of one layer: their weights must be cut alike (by features, by expert, not at all) and the rule of the experts
// module must sum exactly what is cut. The shared expert is followed as an MLP is.
void check_experts(const LayerModules& layer, int tp_size, PlanFindings& findings);

}  // namespace tp
