#pragma once

#include <vector>

#include "runtime/parameter_table.h"

namespace tp {

// Weights that ops.h multiplies with (linear, moe), which a backend may lay out as it reads them best.
bool is_linear_weight(const Parameter& parameter);

// A linear under this style has no collective behind it: its result is whole on every rank or this rank's own features.
bool needs_no_collective(Style style);

// Linears of one block that read the same input and need no collective: q, k and v; gate and up. One product serves each set.
std::vector<std::vector<ParamId>> joined_linears(const ParameterTable& table);

}  // namespace tp
