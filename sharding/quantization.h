#pragma once

#include <string>
#include <vector>

#include "sharding/checkpoint.h"
#include "sharding/model_config.h"
#include "sharding/plan.h"
#include "sharding/weight_kind.h"

namespace tp {

// How the CPU's kernels keep a stored weight: as it is where they can represent it exactly (symmetric int8 with a scale for
// each output; int4 whose groups are multiples of 32), otherwise kStored: widened to the model's dtype while it is loaded.
WeightKind kept_kind(const QuantizedTensor& tensor);

// Gives every module of the plan its kind (PlannedModule::kind): what is stored quantized (kept_kind), else what `weights:` of
// the plan says, else `asked` (--weights, kind_of). `checkpoint` is nullptr where there is none. Throws one Error with
// everything that is in the way: groups that a cut would divide (with the numbers of ranks that do not), experts that are
// stored [in, out], weights that are stored quantized and are asked to be otherwise, weights that multiply nothing.
void settle_weight_kinds(ResolvedPlan& plan, const ModelConfig& config, const Checkpoint* checkpoint, WeightKind asked);

// A matrix that --save-quantized writes for a weight: rows [row_begin, row_begin + rows) of a stored tensor seen as [rows, in].
struct SavedMatrix {
  std::string name;  // empty: the tensor's own
  const StoredTensor* tensor = nullptr;
  int64_t row_begin = 0, rows = 0, in = 0;
};

// Those of one module that is quantized: its tensor, or each expert's; experts that are stored in one piece are saved one by one,
// gate and up apart, as compressed-tensors has them. Throws Error for a weight that is stored quantized, and for experts whose
// gate and up are no parts one behind the other.
std::vector<SavedMatrix> saved_matrices(const Checkpoint& checkpoint, const ModuleSpec& module);

}  // namespace tp
