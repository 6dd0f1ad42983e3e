#pragma once

#include <functional>
#include <vector>

#include "runtime/cpu/packed_linear.h"
#include "runtime/moe_routing.h"
#include "runtime/ops.h"

namespace tp {

// The experts that a rank holds.
struct LocalExperts {
  std::vector<const cpu::PackedLinear*> gate_up, down;
  std::vector<const float*> gate_up_bias, down_bias;  // by expert, or empty
  int64_t first_expert = 0;                           // index in the model of the local expert 0
  // For experts whose features are split: the largest number of each row that `down` takes, over all ranks, or nullptr.
  std::function<const float*(cpu::ConstRows x, int64_t rows, const cpu::PackedLinear& down)> largest_of_whole_rows;
};

// x [tokens, hidden] in the model's dtype through each token's experts, weighted and summed: out [tokens, hidden] float32.
// Choices of experts that other ranks hold add nothing. gate_up and the activated product are rounded to x's dtype, the sums
// are not.
void run_experts(cpu::ConstRows x, int64_t tokens, const std::vector<ExpertChoice>& choices, const LocalExperts& experts,
                 const MoeConfig& config, Activation activation, cpu::Rows out, const cpu::Context& context);

}  // namespace tp
