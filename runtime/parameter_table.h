#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sharding/plan.h"
#include "sharding/slice.h"

namespace tp {

struct Checkpoint;

// A parameter of this rank: index into its ParameterTable. -1 = absent (a norm without weight, a linear without bias).
using ParamId = int;
inline constexpr ParamId kNoParam = -1;

// One parameter that a rank holds: which it is and which part of it.
struct Parameter {
  ModuleSpec module;
  bool is_bias = false;
  std::optional<ModuleSpec> tied;     // read when the weight itself is not stored: of a tied lm_head the embedding
  std::vector<int64_t> stored_shape;  // of the whole
  ShardSlice slice;
  // The last two dimensions are swapped at load, so that all linear weights are [.., out, in] in memory.
  bool transposed = false;
  bool keep_float32 = false;              // whatever the model's dtype
  WeightKind kind = WeightKind::kStored;  // of a linear weight
  DType scale_dtype = DType::kBF16;       // of a weight of another kind: of its scales, as they are stored
  std::optional<int64_t> zero_row;  // of the embedding: it is zero whatever the file has (ModelConfig::zero_embedding_row)

  std::string name() const { return is_bias ? module.bias_name() : module.weight_name(); }
  // In memory, padding included.
  std::vector<int64_t> shape() const;
  int64_t elements() const { return slice.local_elements(); }
};

// All parameters of one rank in the order of the forward pass. Ids and local shapes are the same on every rank.
class ParameterTable {
 public:
  // `checkpoint` tells what is stored quantized; nullptr: nothing is. Throws Error for a cut that cannot be loaded.
  ParameterTable(const ResolvedPlan& plan, const ModelConfig& config, int rank, const Checkpoint* checkpoint = nullptr);

  // `layer` is -1 outside the blocks. kNoParam when the model has no such parameter.
  ParamId weight(Role role, int layer) const;
  ParamId bias(Role role, int layer) const;
  // The module with that role; nullptr when there is none.
  const PlannedModule* module(Role role, int layer) const;

  int tp_size() const { return tp_size_; }
  int size() const { return static_cast<int>(parameters_.size()); }
  const Parameter& at(ParamId id) const { return parameters_[static_cast<size_t>(id)]; }

 private:
  struct Entry {
    PlannedModule planned;
    ParamId weight = kNoParam, bias = kNoParam;
  };
  const Entry* find(Role role, int layer) const;
  ParamId add(Parameter parameter);

  int tp_size_ = 1;
  std::vector<Parameter> parameters_;
  std::map<std::pair<Role, int>, Entry> entries_;
};

}  // namespace tp
