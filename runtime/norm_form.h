#pragma once

#include <string>

#include "runtime/parameter_table.h"
#include "sharding/model_config.h"

namespace tp {

// The `kind` by which a kernel for norms is chosen: "rms", "rms_one_plus" or "layer" for one weight of `size` features and no
// bias, which is what a kernel takes; another word for any other form.
std::string norm_form(const ParameterTable& table, ParamId weight, ParamId bias, NormKind kind, int64_t size);

}  // namespace tp
