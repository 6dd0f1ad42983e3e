#include "runtime/eager_experts.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/cpu/buffer.h"
#include "runtime/cpu/row_ops.h"
#include "runtime/float_convert.h"

namespace tp {
namespace {

// A matrix of its own memory.
struct Block {
  Block(int64_t count, int64_t features, DType dtype)
      : memory(count * features * size_bytes(dtype)), rows{memory.data(), dtype, features} {}
  cpu::Buffer memory;
  cpu::Rows rows;
};

// gpt_oss: gate and up alternate (MoeConfig::clamped_swiglu). gate_up [n, 2 * features] -> out [n, features].
void clamped_swiglu(cpu::ConstRows gate_up, int64_t n, int64_t features, const MoeConfig& config, cpu::Rows out) {
  const auto alpha = static_cast<float>(config.swiglu_alpha), limit = static_cast<float>(config.swiglu_limit);
  std::vector<float> pairs(static_cast<size_t>(2 * features)), result(static_cast<size_t>(features));
  for (int64_t row = 0; row < n; ++row) {
    convert_elements(gate_up.row(row), gate_up.dtype, pairs.data(), DType::kF32, 2 * features);
    for (size_t i = 0; i < result.size(); ++i) {
      const float gate = std::min(pairs[2 * i], limit), up = std::clamp(pairs[2 * i + 1], -limit, limit);
      result[i] = gate / (1.0f + std::exp(-alpha * gate)) * (up + 1.0f);
    }
    convert_elements(result.data(), DType::kF32, out.row(row), out.dtype, features);
  }
}

// The tokens of one expert and its weight for each.
struct Assignment {
  std::vector<int64_t> tokens;
  std::vector<float> weights;
};

class Expert {
 public:
  Expert(const LocalExperts& experts, size_t index, const MoeConfig& config, Activation activation, const cpu::Context& context)
      : gate_up_(*experts.gate_up[index]),
        down_(*experts.down[index]),
        gate_up_bias_(experts.gate_up_bias.empty() ? nullptr : experts.gate_up_bias[index]),
        down_bias_(experts.down_bias.empty() ? nullptr : experts.down_bias[index]),
        largest_of_whole_rows_(experts.largest_of_whole_rows),
        config_(config),
        activation_(activation),
        context_(context) {}

  // Adds this expert's part to the tokens of `out`.
  void run(cpu::ConstRows x, const Assignment& assignment, cpu::Rows out) const {
    const auto n = static_cast<int64_t>(assignment.tokens.size());
    Block chosen(n, gate_up_.in(), x.dtype), wide(n, gate_up_.out(), x.dtype), inner(n, down_.in(), x.dtype);
    Block mixed(n, down_.out(), DType::kF32);
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(chosen.rows.row(i), x.row(assignment.tokens[static_cast<size_t>(i)]),
                  static_cast<size_t>(gate_up_.in() * size_bytes(x.dtype)));
    if (config_.weights_input) weigh(chosen.rows, n, assignment.weights);
    gate_up_.run(chosen.rows, n, wide.rows, context_, gate_up_bias_);
    activate(wide.rows, n, inner.rows);
    const float* largest = largest_of_whole_rows_ ? largest_of_whole_rows_(inner.rows, n, down_) : nullptr;
    down_.run(inner.rows, n, mixed.rows, context_, down_bias_, largest);
    for (int64_t i = 0; i < n; ++i) {
      const float weight = config_.weights_input ? 1.0f : assignment.weights[static_cast<size_t>(i)];
      const float* from = static_cast<const float*>(mixed.rows.row(i));
      float* sum = static_cast<float*>(out.row(assignment.tokens[static_cast<size_t>(i)]));
      for (int64_t k = 0; k < down_.out(); ++k) sum[k] += from[k] * weight;
    }
  }

 private:
  // Row i times weights[i], rounded as it is stored.
  void weigh(cpu::Rows x, int64_t n, const std::vector<float>& weights) const {
    std::vector<float> row(static_cast<size_t>(gate_up_.in()));
    for (int64_t i = 0; i < n; ++i) {
      convert_elements(x.row(i), x.dtype, row.data(), DType::kF32, gate_up_.in());
      for (float& element : row) element *= weights[static_cast<size_t>(i)];
      convert_elements(row.data(), DType::kF32, x.row(i), x.dtype, gate_up_.in());
    }
  }

  void activate(cpu::ConstRows gate_up, int64_t n, cpu::Rows inner) const {
    const int64_t features = gate_up_.out() / 2;
    if (config_.clamped_swiglu) return clamped_swiglu(gate_up, n, features, config_, inner);
    const void* up = static_cast<const std::byte*>(gate_up.data) + features * size_bytes(gate_up.dtype);
    cpu::activation_rows(gate_up, {up, gate_up.dtype, gate_up.stride}, n, features, activation_, inner, context_);
  }

  const cpu::PackedLinear &gate_up_, &down_;
  const float *gate_up_bias_, *down_bias_;
  const decltype(LocalExperts::largest_of_whole_rows)& largest_of_whole_rows_;
  const MoeConfig& config_;
  Activation activation_;
  const cpu::Context& context_;
};

}  // namespace

void run_experts(cpu::ConstRows x, int64_t tokens, const std::vector<ExpertChoice>& choices, const LocalExperts& experts,
                 const MoeConfig& config, Activation activation, cpu::Rows out, const cpu::Context& context) {
  std::vector<Assignment> assignments(experts.gate_up.size());
  for (size_t i = 0; i < choices.size(); ++i) {
    const int64_t local = choices[i].expert - experts.first_expert;
    if (local < 0 || local >= static_cast<int64_t>(assignments.size())) continue;
    Assignment& assignment = assignments[static_cast<size_t>(local)];
    assignment.tokens.push_back(static_cast<int64_t>(i) / config.top_k);
    assignment.weights.push_back(choices[i].weight);
  }
  for (int64_t token = 0; token < tokens; ++token)
    std::memset(out.row(token), 0, static_cast<size_t>(out.stride) * sizeof(float));
  for (size_t index = 0; index < assignments.size(); ++index)
    if (!assignments[index].tokens.empty()) Expert(experts, index, config, activation, context).run(x, assignments[index], out);
}

}  // namespace tp
