#include "sharding/weight_kind.h"

#include <array>
#include <string>
#include <utility>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr std::array<std::pair<WeightKind, std::string_view>, 4> kNames = {{{WeightKind::kStored, ""},
                                                                            {WeightKind::kInt8, "int8"},
                                                                            {WeightKind::kInt4Group32, "int4"},
                                                                            {WeightKind::kInt4Group128, "int4-128"}}};

}  // namespace

WeightKind weight_kind(std::string_view name) {
  for (const auto& [kind, known] : kNames)
    if (known == name) return kind;
  throw Error("--weights", "`" + std::string(name) + "` is no kind of weights", "int8, int4 or int4-128");
}

std::string_view weight_kind_name(WeightKind kind) {
  if (kind == WeightKind::kInt4Group32Zeros) return "int4 with zero points";
  if (kind == WeightKind::kInt4Group128Zeros) return "int4-128 with zero points";
  for (const auto& [known, name] : kNames)
    if (known == kind) return name;
  return "";
}

int64_t unit_of(WeightKind kind) {
  switch (kind) {
    case WeightKind::kStored:
      break;
    case WeightKind::kInt8:
      return 8;
    case WeightKind::kInt4Group32:
    case WeightKind::kInt4Group32Zeros:
      return 32;
    case WeightKind::kInt4Group128:
    case WeightKind::kInt4Group128Zeros:
      return 128;
  }
  return 1;
}

bool is_linear_role(Role role) {
  switch (role) {
    case Role::kLmHead:
    case Role::kQ:
    case Role::kK:
    case Role::kV:
    case Role::kQkv:
    case Role::kAttentionGate:
    case Role::kO:
    case Role::kGate:
    case Role::kUp:
    case Role::kGateUp:
    case Role::kDown:
    case Role::kQA:
    case Role::kQB:
    case Role::kKvA:
    case Role::kKvB:
    case Role::kRouter:
    case Role::kExpertsGateUp:
    case Role::kExpertsDown:
    case Role::kSharedGate:
    case Role::kSharedUp:
    case Role::kSharedGateUp:
    case Role::kSharedDown:
    case Role::kSharedExpertGate:
      return true;
    default:
      return false;
  }
}

WeightKind kind_of(Role role, WeightKind asked) {
  if (!is_linear_role(role) || role == Role::kRouter || role == Role::kSharedExpertGate) return WeightKind::kStored;
  return role == Role::kLmHead && asked != WeightKind::kStored ? WeightKind::kInt8 : asked;
}

int64_t weight_bytes(WeightKind kind, DType dtype, int64_t out, int64_t in) {
  constexpr int64_t kScaleBytes = 2;
  const int64_t groups = (in + unit_of(kind) - 1) / unit_of(kind);
  switch (kind) {
    case WeightKind::kStored:
      break;
    case WeightKind::kInt8:
      return out * (in + kScaleBytes);
    case WeightKind::kInt4Group32:
    case WeightKind::kInt4Group128:
      return out * (in / 2 + groups * kScaleBytes);
    case WeightKind::kInt4Group32Zeros:
    case WeightKind::kInt4Group128Zeros:
      return out * (in / 2 + groups * 2 * kScaleBytes);
  }
  return out * in * size_bytes(dtype);
}

}  // namespace tp
