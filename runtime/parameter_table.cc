#include "runtime/parameter_table.h"

#include <utility>

#include "sharding/checkpoint.h"
#include "sharding/error.h"

namespace tp {

std::vector<int64_t> Parameter::shape() const {
  std::vector<int64_t> shape = slice.local_shape;
  if (transposed) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

namespace {

// Of the scales that a weight is stored with. Those of parts that differ must be float32, or equal.
DType stored_scale_dtype(const Checkpoint* checkpoint, const PlannedModule& planned) {
  std::optional<DType> dtype;
  if (checkpoint == nullptr || planned.kind == WeightKind::kStored) return DType::kBF16;
  for (const WeightSource& source : weight_sources(*checkpoint, planned.module)) {
    if (!source.tensor->quantized) continue;
    const DType one = source.tensor->quantized->scales.entry.dtype;
    if (dtype && *dtype != one && planned.kind == WeightKind::kInt8) return DType::kF32;
    dtype = dtype.value_or(one);
  }
  return dtype.value_or(DType::kBF16);
}

}  // namespace

ParameterTable::ParameterTable(const ResolvedPlan& plan, const ModelConfig& config, int rank, const Checkpoint* checkpoint)
    : tp_size_(plan.tp_size) {
  const bool transposed_experts = config.moe && config.moe->transposed;
  std::optional<ModuleSpec> embedding;
  for (const PlannedModule& planned : plan.modules) {
    const ModuleSpec& module = planned.module;
    if (module.role == Role::kEmbedding) embedding = module;
    Entry entry{planned};
    if (module.has_weight) {
      Parameter weight{module};
      weight.stored_shape = module.weight_shape;
      weight.kind = planned.kind;
      weight.scale_dtype = stored_scale_dtype(checkpoint, planned);
      weight.slice = weight_slice(module, planned.style, rank, plan.tp_size);
      weight.transposed = transposed_experts && (module.role == Role::kExpertsGateUp || module.role == Role::kExpertsDown);
      // Added to float32 scores: in 16 bits it would change which experts are chosen.
      weight.keep_float32 = module.role == Role::kCorrectionBias;
      if (module.role == Role::kEmbedding || module.role == Role::kLmHead) weight.zero_row = config.zero_embedding_row;
      if (module.role == Role::kLmHead && config.tie_word_embeddings) weight.tied = embedding;
      entry.weight = add(std::move(weight));
    }
    if (module.has_bias) {
      Parameter bias{module, /*is_bias=*/true};
      bias.stored_shape = {module.weight_shape[0]};
      bias.slice = bias_slice(module, planned.style, rank, plan.tp_size);
      entry.bias = add(std::move(bias));
    }
    entries_.emplace(std::pair(module.role, module.layer), std::move(entry));
  }
}

ParamId ParameterTable::add(Parameter parameter) {
  parameters_.push_back(std::move(parameter));
  return size() - 1;
}

const ParameterTable::Entry* ParameterTable::find(Role role, int layer) const {
  auto found = entries_.find({role, layer});
  return found == entries_.end() ? nullptr : &found->second;
}

ParamId ParameterTable::weight(Role role, int layer) const {
  const Entry* entry = find(role, layer);
  return entry ? entry->weight : kNoParam;
}

ParamId ParameterTable::bias(Role role, int layer) const {
  const Entry* entry = find(role, layer);
  return entry ? entry->bias : kNoParam;
}

const PlannedModule* ParameterTable::module(Role role, int layer) const {
  const Entry* entry = find(role, layer);
  return entry ? &entry->planned : nullptr;
}

}  // namespace tp
