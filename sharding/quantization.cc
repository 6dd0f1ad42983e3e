#include "sharding/quantization.h"

#include <array>
#include <utility>
#include <vector>

#include "sharding/error.h"
#include "sharding/slice.h"

namespace tp {
namespace {

constexpr std::array<std::pair<WeightKind, std::string_view>, 4> kNames = {{{WeightKind::kStored, ""},
                                                                            {WeightKind::kInt8, "int8"},
                                                                            {WeightKind::kInt4Group32, "int4"},
                                                                            {WeightKind::kInt4Group128, "int4-128"}}};
constexpr int kMostRanksListed = 16;

// Inputs that no cut may divide: a group, or what one step of the kernels takes.
int64_t unit_of(WeightKind kind) {
  return kind == WeightKind::kInt8 ? 8 : kind == WeightKind::kInt4Group32 ? 32 : 128;
}

bool keeps_units(const ModuleSpec& module, Style style, int tp_size, int64_t unit) {
  const int64_t in = module.weight_shape.back();
  for (int rank = 0; rank < tp_size; ++rank) {
    const ShardSlice slice = weight_slice(module, style, rank, tp_size);
    if (slice.local_shape.back() % unit != 0) return false;
    if (slice.whole() || slice.dim + 1 != static_cast<int>(module.weight_shape.size())) continue;
    for (const SliceRun& run : slice.runs)
      if (run.source_begin % unit != 0 || run.target_begin % unit != 0 || run.count % unit != 0) return false;
  }
  return in % unit == 0;
}

// "1, 2, 4"
std::string ranks_that_keep(int64_t in, int64_t unit) {
  std::string list;
  for (int ranks = 1; ranks <= kMostRanksListed; ++ranks)
    if (in % (ranks * unit) == 0) list += (list.empty() ? "" : ", ") + std::to_string(ranks);
  return list;
}

std::string problem_of(const PlannedModule& planned, const ModelConfig& config, int tp_size, WeightKind asked) {
  const ModuleSpec& module = planned.module;
  const WeightKind kind = kind_of(module.role, asked);
  if (!module.has_weight || kind == WeightKind::kStored) return "";
  const bool expert = module.role == Role::kExpertsGateUp || module.role == Role::kExpertsDown;
  if (expert && config.moe->transposed) return module.name + ": experts that are stored [in, out] cannot be quantized";
  if (keeps_units(module, planned.style, tp_size, unit_of(kind))) return "";
  const int64_t in = module.weight_shape.back(), unit = unit_of(kind);
  const std::string list = ranks_that_keep(in, unit);
  return module.name + ": " + std::to_string(in) + " inputs over " + std::to_string(tp_size) +
         " ranks are not whole groups of " + std::to_string(unit) +
         (list.empty() ? "; no number of ranks makes them so" : "; with these numbers of ranks they are: " + list);
}

}  // namespace

WeightKind weight_kind(std::string_view name) {
  for (const auto& [kind, known] : kNames)
    if (known == name) return kind;
  throw Error("--weights", "`" + std::string(name) + "` is no kind of weights", "int8, int4 or int4-128");
}

std::string_view weight_kind_name(WeightKind kind) {
  for (const auto& [known, name] : kNames)
    if (known == kind) return name;
  return "";
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
  switch (kind) {
    case WeightKind::kStored:
      break;
    case WeightKind::kInt8:
      return out * (in + kScaleBytes);
    case WeightKind::kInt4Group32:
    case WeightKind::kInt4Group128:
      return out * (in / 2 + in / unit_of(kind) * kScaleBytes);
  }
  return out * in * size_bytes(dtype);
}

void require_quantizable(const ResolvedPlan& plan, const ModelConfig& config, WeightKind asked) {
  std::string problems;
  int more = 0;
  for (const PlannedModule& planned : plan.modules) {
    const std::string problem = problem_of(planned, config, plan.tp_size, asked);
    if (problem.empty()) continue;
    if (problems.empty()) {
      problems = problem;
    } else {
      ++more;
    }
  }
  if (problems.empty()) return;
  if (more > 0) problems += " (and " + std::to_string(more) + " more weights)";
  throw Error("--weights " + std::string(weight_kind_name(asked)), problems, "another number of ranks, another kind or none");
}

}  // namespace tp
