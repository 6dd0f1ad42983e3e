#pragma once

#include <cstdint>
#include <string_view>

#include "sharding/dtype.h"
#include "sharding/parameters.h"

namespace tp {

// How linear weights are kept: in the model's dtype, or as integers: int8 with a scale for each output, int4 with one for each
// group of 32 or 128 inputs. Those that are made while loading are symmetric and have bfloat16 scales; a stored weight may
// bring a zero point for each group.
enum class WeightKind { kStored, kInt8, kInt4Group32, kInt4Group128, kInt4Group32Zeros, kInt4Group128Zeros };

// "int8", "int4" (groups of 32), "int4-128"; empty = kStored. Throws Error for anything else.
WeightKind weight_kind(std::string_view name);
// "int4 with zero points" has no other name; kStored has none.
std::string_view weight_kind_name(WeightKind kind);

// Inputs that no cut may divide: a group, or what one step of the kernels takes; 1 for kStored.
int64_t unit_of(WeightKind kind);

// True for the weights that multiply activations.
bool is_linear_role(Role role);

// What becomes of a weight when `asked` is wanted for the model: routers and gates stay as they are, for they decide; a head
// beside int4 becomes int8.
WeightKind kind_of(Role role, WeightKind asked);

// Bytes of a matrix [out, in], scales and zero points included.
int64_t weight_bytes(WeightKind kind, DType dtype, int64_t out, int64_t in);

}  // namespace tp
