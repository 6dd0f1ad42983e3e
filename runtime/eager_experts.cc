#include "runtime/eager_experts.h"

#include <ATen/ATen.h>

#include "runtime/eager_activation.h"

namespace tp {
namespace {

at::Tensor rounded(const at::Tensor& value, at::ScalarType dtype) {
  return value.to(dtype).to(at::kFloat);
}

// gate_up [n, 2 * intermediate] -> the input of down.
at::Tensor gated(const at::Tensor& gate_up, const MoeConfig& config, Activation activation) {
  if (config.clamped_swiglu) {
    const at::Tensor pairs = gate_up.unflatten(1, {-1, 2});
    const at::Tensor gate = pairs.select(2, 0).clamp_max(config.swiglu_limit);
    const at::Tensor up = pairs.select(2, 1).clamp(-config.swiglu_limit, config.swiglu_limit);
    return at::sigmoid(gate * config.swiglu_alpha).mul_(gate).mul_(up + 1);
  }
  const int64_t half = gate_up.size(1) / 2;
  return activated(gate_up.narrow(1, 0, half).contiguous(), activation).mul_(gate_up.narrow(1, half, half));
}

// The tokens of one expert and its weight for each.
struct Assignment {
  std::vector<int64_t> tokens;
  std::vector<float> weights;
};

}  // namespace

at::Tensor run_experts(const at::Tensor& x, const std::vector<ExpertChoice>& choices, const LocalExperts& experts,
                       const MoeConfig& config, Activation activation, at::ScalarType dtype, EagerMatmul& matmul) {
  std::vector<Assignment> assignments(static_cast<size_t>(experts.gate_up.size(0)));
  for (size_t i = 0; i < choices.size(); ++i) {
    const int64_t local = choices[i].expert - experts.first_expert;
    if (local < 0 || local >= experts.gate_up.size(0)) continue;
    Assignment& assignment = assignments[static_cast<size_t>(local)];
    assignment.tokens.push_back(static_cast<int64_t>(i) / config.top_k);
    assignment.weights.push_back(choices[i].weight);
  }
  at::Tensor out = at::zeros_like(x);
  for (size_t index = 0; index < assignments.size(); ++index) {
    const Assignment& assignment = assignments[index];
    if (assignment.tokens.empty()) continue;
    const auto expert = static_cast<int64_t>(index);
    const at::Tensor tokens = at::tensor(assignment.tokens);
    at::Tensor gate_up = matmul(x.index_select(0, tokens), experts.gate_up.select(0, expert));
    if (experts.gate_up_bias.defined()) gate_up.add_(experts.gate_up_bias.select(0, expert));
    const at::Tensor inner = rounded(gated(rounded(gate_up, dtype), config, activation), dtype);
    at::Tensor mixed = matmul(inner, experts.down.select(0, expert));
    if (experts.down_bias.defined()) mixed.add_(experts.down_bias.select(0, expert));
    out.index_add_(0, tokens, mixed.mul_(at::tensor(assignment.weights).unsqueeze(1)));
  }
  return out;
}

}  // namespace tp
