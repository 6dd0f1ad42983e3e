#pragma once

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

}  // namespace tp
