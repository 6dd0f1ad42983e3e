#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sharding/dtype.h"
#include "sharding/model_config.h"
#include "sharding/plan.h"

namespace tp {

// How linear weights are kept: in the model's dtype, or as integers that are made while they are loaded: int8 with a bfloat16
// scale for each output, int4 with one for each group of 32 or 128 inputs. Symmetric.
enum class WeightKind { kStored, kInt8, kInt4Group32, kInt4Group128 };

// "int8", "int4" (groups of 32), "int4-128"; empty = kStored. Throws Error for anything else.
WeightKind weight_kind(std::string_view name);
std::string_view weight_kind_name(WeightKind kind);

// True for the weights that multiply activations.
bool is_linear_role(Role role);

// What becomes of a weight when `asked` is wanted for the model: routers and gates stay as they are, for they decide; a head
// beside int4 becomes int8.
WeightKind kind_of(Role role, WeightKind asked);

// Bytes of a matrix [out, in], scales included.
int64_t weight_bytes(WeightKind kind, DType dtype, int64_t out, int64_t in);

// Throws one Error with everything that keeps the plan's weights from being quantized: groups that a cut would divide (with the
// numbers of ranks that do not), experts that are stored [in, out].
void require_quantizable(const ResolvedPlan& plan, const ModelConfig& config, WeightKind asked);

}  // namespace tp
