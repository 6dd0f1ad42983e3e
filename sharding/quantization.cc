#include "sharding/quantization.h"

#include <optional>
#include <string>
#include <vector>

#include "sharding/error.h"
#include "sharding/expert_name.h"
#include "sharding/slice.h"

namespace tp {
namespace {

constexpr int kMostRanksListed = 16;

// Inputs that the kernels take at once: a row may end within a group, but not within these.
constexpr int64_t kWord = 8;

bool keeps_units(const ModuleSpec& module, Style style, int tp_size, int64_t unit) {
  const int64_t in = module.weight_shape.back();
  if (in % kWord != 0) return false;
  for (int rank = 0; rank < tp_size; ++rank) {
    const ShardSlice slice = weight_slice(module, style, rank, tp_size);
    if (slice.whole() || slice.dim + 1 != static_cast<int>(module.weight_shape.size())) continue;
    for (const SliceRun& run : slice.runs) {
      const bool ends = run.count % unit == 0 || run.source_begin + run.count == in;
      if (run.source_begin % unit != 0 || run.target_begin % unit != 0 || !ends) return false;
    }
  }
  return true;
}

// "1, 2, 4"
std::string ranks_that_keep(int64_t in, int64_t unit) {
  std::string list;
  for (int ranks = 1; ranks <= kMostRanksListed; ++ranks)
    if (in % (ranks * unit) == 0 || (ranks == 1 && in % kWord == 0)) list += (list.empty() ? "" : ", ") + std::to_string(ranks);
  return list;
}

// What keeps a module from having its kind, or "".
std::string problem_of(const PlannedModule& planned, const ModelConfig& config, int tp_size) {
  const ModuleSpec& module = planned.module;
  if (planned.kind == WeightKind::kStored) return "";
  if (is_expert_parameter(module.role) && config.moe->transposed)
    return module.name + ": experts that are stored [in, out] cannot be quantized";
  const int64_t in = module.weight_shape.back(), unit = unit_of(planned.kind);
  if (keeps_units(module, planned.style, tp_size, unit)) return "";
  const std::string list = ranks_that_keep(in, unit);
  return module.name + ": " + std::to_string(in) + " inputs over " + std::to_string(tp_size) +
         " ranks are not whole groups of " + std::to_string(unit) +
         (list.empty() ? "; no number of ranks makes them so" : "; with these numbers of ranks they are: " + list);
}

// How a module's weight is kept for being stored so; nullopt where nothing of it is quantized in the checkpoint.
std::optional<WeightKind> stored_kind(const Checkpoint& checkpoint, const ModuleSpec& module) {
  std::optional<WeightKind> kind;
  bool quantized = false;
  for (const WeightSource& source : weight_sources(checkpoint, module)) {
    quantized = quantized || source.tensor->quantized;
    const WeightKind one = source.tensor->quantized ? kept_kind(*source.tensor->quantized) : WeightKind::kStored;
    // Parts that are kept in different ways are widened.
    kind = kind.value_or(one) == one ? one : WeightKind::kStored;
  }
  return quantized ? kind : std::nullopt;
}

class Settler {
 public:
  Settler(ResolvedPlan& plan, const ModelConfig& config, const Checkpoint* checkpoint, WeightKind asked)
      : plan_(plan), config_(config), checkpoint_(checkpoint), asked_(asked) {}

  void run() {
    for (PlannedModule& planned : plan_.modules) {
      if (!planned.module.has_weight) continue;
      const std::string where = settle(planned);
      note(where, problem_of(planned, config_, plan_.tp_size));
    }
    if (problem_.empty()) return;
    if (more_ > 0) problem_ += " (and " + std::to_string(more_) + " more weights)";
    throw Error(where_, problem_, "another number of ranks, another kind or none");
  }

 private:
  void note(const std::string& where, const std::string& problem) {
    if (problem.empty()) return;
    if (!problem_.empty()) {
      ++more_;
      return;
    }
    where_ = where;
    problem_ = problem;
  }

  // Gives a module its kind; returns who says so.
  std::string settle(PlannedModule& planned) {
    const ModuleSpec& module = planned.module;
    const WeightRule* rule = planned.weight_rule ? &plan_.plan.weights[*planned.weight_rule] : nullptr;
    const std::optional<WeightKind> stored = checkpoint_ != nullptr ? stored_kind(*checkpoint_, module) : std::nullopt;
    const WeightKind wish = rule ? rule->kind : kind_of(module.role, asked_);
    const bool wanted = wish != WeightKind::kStored;
    planned.kind = stored.value_or(wish);
    const std::string where = rule ? rule->where : "--weights " + std::string(weight_kind_name(asked_));
    if (stored) {
      if (wanted || rule) note(where, module.name + " is stored quantized, and is used as it is stored");
      return checkpoint_->dir.string();
    }
    if (wanted && !is_linear_role(module.role)) {
      note(where, module.name + " multiplies nothing, and stays as it is stored");
      planned.kind = WeightKind::kStored;
    }
    return where;
  }

  ResolvedPlan& plan_;
  const ModelConfig& config_;
  const Checkpoint* checkpoint_;
  WeightKind asked_;
  std::string where_, problem_;
  int more_ = 0;
};

}  // namespace

WeightKind kept_kind(const QuantizedTensor& tensor) {
  const bool per_output = tensor.group_out == 1;
  if (tensor.packing == StoredPacking::kInt8 || tensor.packing == StoredPacking::kPackedInt8) {
    const bool kept = per_output && tensor.groups() == 1 && !tensor.zeros && tensor.in % unit_of(WeightKind::kInt8) == 0;
    return kept ? WeightKind::kInt8 : WeightKind::kStored;
  }
  // Scales of two bytes are kept as they are; one of float32 would be rounded.
  if (!tensor.nibbles() || !per_output || tensor.scales.entry.dtype == DType::kF32) return WeightKind::kStored;
  // A group of 64 is two of 32 with the same scale.
  const bool zeros = tensor.zeros && !tensor.symmetric;
  if (tensor.group_in % 128 == 0) return zeros ? WeightKind::kInt4Group128Zeros : WeightKind::kInt4Group128;
  if (tensor.group_in % 32 == 0) return zeros ? WeightKind::kInt4Group32Zeros : WeightKind::kInt4Group32;
  return WeightKind::kStored;
}

void settle_weight_kinds(ResolvedPlan& plan, const ModelConfig& config, const Checkpoint* checkpoint, WeightKind asked) {
  Settler(plan, config, checkpoint, asked).run();
}

std::vector<SavedMatrix> saved_matrices(const Checkpoint& checkpoint, const ModuleSpec& module) {
  std::vector<SavedMatrix> matrices;
  for (const WeightSource& source : weight_sources(checkpoint, module)) {
    if (source.tensor->quantized)
      throw Error(module.name, "is stored quantized already", "leave out --save-quantized: the checkpoint loads as it is");
    const std::vector<int64_t>& shape = source.tensor->entry.shape;
    if (shape.size() == 2) {
      matrices.push_back({"", source.tensor, 0, shape[0], shape[1]});
      continue;
    }
    std::vector<int64_t> parts;
    for (const FusedPart& part : module.parts) parts.push_back(part.size);
    if (parts.empty()) parts = {shape[1]};
    if (parts.size() != module.per_expert.size())
      throw Error(module.name, "gate and up are stored row by row in turns, which compressed-tensors has not",
                  "leave out --save-quantized, or keep it bf16");
    int64_t row = 0;
    for (int64_t expert = 0; expert < shape[0]; ++expert) {
      for (size_t i = 0; i < parts.size(); row += parts[i++])
        matrices.push_back({expert_name(module.per_expert[i], expert), source.tensor, row, parts[i], shape[2]});
    }
  }
  return matrices;
}

}  // namespace tp
