#pragma once

#include <cstddef>
#include <vector>

#include "runtime/integer_weight.h"
#include "runtime/parameter_table.h"

namespace tp {

// The elements of a linear weight that is kept as integers in the order of a program's arguments (HloWeightTypes), one byte for
// each integer, as a plugin takes them.
std::vector<std::byte> program_values(const Parameter& parameter, const IntegerWeight& weight);
std::vector<std::byte> program_scales(const Parameter& parameter, const IntegerWeight& weight);
std::vector<std::byte> program_zeros(const Parameter& parameter, const IntegerWeight& weight);

}  // namespace tp
