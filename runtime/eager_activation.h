#pragma once

#include <ATen/core/Tensor.h>

#include "sharding/model_config.h"

namespace tp {

// The activation of each element of a float32 tensor, as a new tensor.
at::Tensor activated(const at::Tensor& x, Activation activation);

}  // namespace tp
