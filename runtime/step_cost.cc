#include "runtime/step_cost.h"

#include <algorithm>

#include "runtime/linear_weights.h"

namespace tp {
namespace {

// Elements that take part for one token.
int64_t elements_used(const RankModel& model, const Parameter& parameter) {
  const int64_t elements = parameter.elements();
  if (!is_expert_parameter(parameter.module.role)) return elements;
  return elements * model.config.moe->top_k / model.config.moe->num_experts;
}

}  // namespace

int64_t step_weight_bytes(const RankModel& model, int rank) {
  int64_t bytes = 0;
  for (ParamId id = 0; id < model.table.size(); ++id) {
    const Parameter& parameter = model.table.at(id);
    int64_t used = model.weights.bytes(parameter);
    if (is_expert_parameter(parameter.module.role)) used = used * model.config.moe->top_k / model.config.moe->num_experts;
    if (parameter.module.role == Role::kEmbedding) {
      const bool by_rows = !parameter.slice.whole() && parameter.slice.dim == 0;
      used = by_rows && rank != 0 ? 0 : parameter.shape()[1] * size_bytes(model.weights.dtype());
    }
    bytes += used;
  }
  return bytes;
}

double prefill_flops(const RankModel& model, int64_t tokens) {
  double flops = 0;
  for (ParamId id = 0; id < model.table.size(); ++id) {
    const Parameter& parameter = model.table.at(id);
    if (!is_linear_weight(parameter)) continue;
    const int64_t positions = parameter.module.role == Role::kLmHead ? 1 : tokens;
    flops += 2.0 * static_cast<double>(elements_used(model, parameter)) * static_cast<double>(positions);
  }
  const ModelConfig& config = model.config;
  const int64_t features = config.head_dim + (config.mla ? config.mla->v_head_dim : config.head_dim);
  for (const LayerConfig& layer : config.layers) {
    const double seen =
        layer.window > 0 ? static_cast<double>(std::min(layer.window, tokens)) : static_cast<double>(tokens) / 2;
    flops +=
        2.0 * static_cast<double>(features * config.num_heads / model.table.tp_size()) * static_cast<double>(tokens) * seen;
  }
  return flops;
}

}  // namespace tp
