#pragma once

#include <string>

#include "sharding/plan.h"

namespace tp {

// The text of a model's config.json with the `quantization_config` of compressed-tensors for what the plan quantizes: one group
// for each kind, the commonest one for all linear layers, the others for their modules by name; what stays as it is is ignored.
// A head that is quantized is no longer tied.
std::string quantized_config(const ResolvedPlan& plan, const std::string& model_dir);

}  // namespace tp
