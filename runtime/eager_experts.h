#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "runtime/eager_matmul.h"
#include "runtime/moe_routing.h"
#include "runtime/ops.h"

namespace tp {

// The experts that a rank holds: weights [experts_local, out, in] as stored, biases float32 [experts_local, out] or undefined.
struct LocalExperts {
  at::Tensor gate_up, gate_up_bias, down, down_bias;
  int64_t first_expert = 0;  // index in the model of the local expert 0
};

// x [tokens, hidden] float32 through each token's experts, weighted and summed: [tokens, hidden] float32. Choices of experts
// that other ranks hold add nothing. gate_up and the activated product are rounded to `dtype`, the sums are not.
at::Tensor run_experts(const at::Tensor& x, const std::vector<ExpertChoice>& choices, const LocalExperts& experts,
                       const MoeConfig& config, Activation activation, at::ScalarType dtype, EagerMatmul& matmul);

}  // namespace tp
