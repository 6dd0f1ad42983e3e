#pragma once

#include "sharding/layer_modules.h"
#include "sharding/plan_findings.h"

namespace tp {

// Follows the layouts through the attention of one layer: projections, heads, q/k norms, output projection.
void check_attention(const LayerModules& layer, int tp_size, PlanFindings& findings);

}  // namespace tp
