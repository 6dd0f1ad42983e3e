#include "runtime/parameter_table.h"

namespace tp {

ParameterTable::ParameterTable(const ResolvedPlan& plan, const ModelConfig& config, int rank) : tp_size_(plan.tp_size) {
  std::string embedding;
  for (const PlannedModule& planned : plan.modules) {
    const ModuleSpec& module = planned.module;
    if (module.role == Role::kEmbedding) embedding = module.weight_name();
    Entry entry{planned};
    if (module.has_weight) {
      Parameter weight{module.weight_name(), "", module.weight_shape, weight_slice(module, planned.style, rank, plan.tp_size)};
      if (module.role == Role::kLmHead && config.tie_word_embeddings) weight.tied_tensor = embedding;
      entry.weight = size();
      parameters_.push_back(std::move(weight));
    }
    if (module.has_bias) {
      entry.bias = size();
      parameters_.push_back(
          {module.bias_name(), "", {module.weight_shape[0]}, bias_slice(module, planned.style, rank, plan.tp_size)});
    }
    entries_.emplace(std::pair(module.role, module.layer), std::move(entry));
  }
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
