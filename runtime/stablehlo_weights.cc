#include "runtime/ops_stablehlo.h"
#include "runtime/quantized_product.h"
#include "runtime/stored_blocks.h"

// Linear weights that stay integers in a chip's memory: half or a quarter of the bytes that a step reads.
namespace tp {
namespace {

bool is_int4(WeightKind kind) {
  return kind != WeightKind::kStored && kind != WeightKind::kInt8;
}

}  // namespace

HloWeightTypes weight_types(const Parameter& parameter) {
  std::vector<int64_t> dims = parameter.shape();
  const int64_t in = dims.back(), unit = unit_of(parameter.kind);
  HloWeightTypes types;
  if (parameter.kind == WeightKind::kInt8) {
    types.values = {DType::kI8, dims};
    dims.pop_back();
    types.scales = {parameter.scale_dtype, dims};
    return types;
  }
  const size_t in_dim = dims.size() - 2;
  dims[in_dim + 1] = dims[in_dim];
  dims[in_dim] = in;
  types.values = {DType::kI8, dims, /*int4=*/true};
  dims[in_dim] = (in + unit - 1) / unit;
  types.scales = {parameter.scale_dtype, dims};
  types.zeros = {DType::kBF16, dims};
  return types;
}

StableHloOps::Weight StableHloOps::weight(ParamId id) {
  const Parameter& parameter = table_.at(id);
  if (parameter.kind == WeightKind::kStored) return {this->parameter(id), {}, {}};
  const HloWeightTypes types = weight_types(parameter);
  Weight weight{.kind = parameter.kind};
  weight.values = argument(HloInput::Kind::kParameter, id, parameter.name(), types.values);
  weight.scales = argument(HloInput::Kind::kScales, id, parameter.name() + "_scale", types.scales);
  if (has_zero_points(parameter.kind))
    weight.zeros = argument(HloInput::Kind::kZeros, id, parameter.name() + "_zero_point", types.zeros);
  return weight;
}

StableHloOps::Weight StableHloOps::gather(const Weight& weight, const Hlo& indices) {
  Weight chosen{hlo_.gather_rows(weight.values, indices), {}, {}, weight.kind};
  if (weight.kind != WeightKind::kStored) chosen.scales = hlo_.gather_rows(weight.scales, indices);
  if (has_zero_points(weight.kind)) chosen.zeros = hlo_.gather_rows(weight.zeros, indices);
  return chosen;
}

// (q - zero) * scale in float32, exact, rounded once: a compiler makes it part of the product that follows.
Hlo StableHloOps::widened(const Weight& weight) {
  const std::vector<int64_t>& dims = weight.values.type.dims;
  const size_t in_dim = dims.size() - 2;
  const int64_t group = unit_of(weight.kind);
  const auto over_inputs = [&](const Hlo& of_groups) {
    std::vector<int64_t> grouped = of_groups.type.dims, to;
    for (size_t i = 0; i < grouped.size(); ++i) to.push_back(static_cast<int64_t>(i < grouped.size() - 1 ? i : i + 1));
    grouped.insert(grouped.end() - 1, group);
    std::vector<int64_t> whole = dims;
    whole[in_dim] = of_groups.dim(in_dim) * group;
    const Hlo repeated = hlo_.broadcast(hlo_.convert(of_groups, DType::kF32), to, grouped);
    return hlo_.slice(hlo_.reshape(repeated, whole), in_dim, 0, dims[in_dim]);
  };
  Hlo numbers = hlo_.convert(weight.values, DType::kF32);
  if (has_zero_points(weight.kind)) numbers = hlo_.binary("subtract", numbers, over_inputs(weight.zeros));
  return hlo_.round(hlo_.binary("multiply", numbers, over_inputs(weight.scales)), dtype_);
}

Hlo StableHloOps::multiply(const Hlo& x, const Weight& weight, const std::vector<int64_t>& x_batch, int64_t x_dim) {
  const auto last = static_cast<int64_t>(weight.values.type.dims.size()) - 1;
  std::vector<int64_t> batch;
  for (size_t i = 0; i < x_batch.size(); ++i) batch.push_back(static_cast<int64_t>(i));
  if (is_int4(weight.kind)) return hlo_.dot(x, widened(weight), x_batch, batch, x_dim, last - 1, DType::kF32);
  if (weight.kind == WeightKind::kStored) return hlo_.dot(x, weight.values, x_batch, batch, x_dim, last, DType::kF32);
  // The model's dtype holds every int8, and a scale of whole rows can wait for the sum.
  const Hlo sum = hlo_.dot(x, hlo_.convert(weight.values, dtype_), x_batch, batch, x_dim, last, DType::kF32);
  std::vector<int64_t> to = batch;
  const size_t free = weight.scales.type.dims.size() - batch.size();
  for (size_t i = 0; i < free; ++i) to.push_back(static_cast<int64_t>(sum.type.dims.size() - free + i));
  return hlo_.binary("multiply", sum, hlo_.broadcast(hlo_.convert(weight.scales, DType::kF32), to, sum.type.dims));
}

}  // namespace tp
