#pragma once

#include <cstdint>

#include "runtime/rank_model.h"

namespace tp {

// Bytes of this rank's weights that a decode step reads for one sequence: of experts the chosen ones, of the embedding table
// one row, which lies on one rank where the table is cut by rows.
int64_t step_weight_bytes(const RankModel& model, int rank);

// Floating-point operations of a prefill of `tokens` positions on this rank: two for each weight and position (of the head: for
// the last position alone), and attention over what each position may see.
double prefill_flops(const RankModel& model, int64_t tokens);

}  // namespace tp
