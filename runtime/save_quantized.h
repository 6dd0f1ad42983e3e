#pragma once

#include <string>

#include "runtime/collectives.h"
#include "runtime/rank_model.h"

namespace tp {

// Writes the model as a checkpoint whose quantized weights (PlannedModule::kind) lie as compressed-tensors stores them: the
// same integers and scales that loading makes, so that it loads at once and gives equal numbers. Each rank makes and writes a
// share of the tensors, whole ones, as one file; rank 0 adds the index, config.json with `quantization_config` and copies of
// the other small files of the model (tokenizer, chat template, generation settings). The other tensors are copied as they are
// stored. A tied head that was quantized becomes a tensor of its own.
//
// int8: `weight` int8 [out, in], `weight_scale` [out, 1]. int4: `weight_packed` int32 [out, in/8], the lowest nibble first, q +
// 8; `weight_scale` [out, in/group], negative where the largest weight of a group is positive and became -8; `weight_shape`.
//
// Experts that are stored in one tensor are saved one by one (saved_matrices). Throws Error for a weight that is not finite, as
// saved_matrices, and for files that cannot be written.
void save_quantized(const RankModel& model, const std::string& model_dir, const std::string& target, int threads,
                    Communicator& communicator);

}  // namespace tp
