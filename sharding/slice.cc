#include "sharding/slice.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>

namespace tp {
namespace {

int64_t product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// What a rank holds of one part of the cut dimension: the part's own rows [begin, end), in `length` local rows.
struct PartShare {
  Range range;
  int64_t length = 0;
};

[[noreturn]] void cannot_cut(const ModuleSpec& module, Style style, int tp_size) {
  throw std::logic_error(module.name + " cannot be cut as " + std::string(style_info(style).name) + " over " +
                         std::to_string(tp_size) + " ranks: the plan was not checked");
}

class Cutter {
 public:
  Cutter(const ModuleSpec& module, Style style, int rank, int tp_size)
      : module_(module), style_(style), rank_(rank), tp_size_(tp_size) {}

  // Slice of a tensor of `shape` along `dim`, which is made of `parts`.
  ShardSlice cut(const std::vector<int64_t>& shape, int dim, const std::vector<FusedPart>& parts) const {
    ShardSlice slice{.dim = dim, .runs = {}, .local_shape = shape};
    int64_t source = 0, target = 0;
    for (const FusedPart& part : parts) {
      const PartShare share = share_of(part);
      if (share.range.size() > 0) append(slice.runs, {source + share.range.begin, share.range.size(), target});
      source += part.size;
      target += share.length;
    }
    slice.local_shape[dim] = target;
    return slice;
  }

  int64_t local_length(const FusedPart& part) const { return share_of(part).length; }

 private:
  static void append(std::vector<SliceRun>& runs, SliceRun run) {
    if (!runs.empty()) {
      SliceRun& last = runs.back();
      if (last.source_begin + last.count == run.source_begin && last.target_begin + last.count == run.target_begin) {
        last.count += run.count;
        return;
      }
    }
    runs.push_back(run);
  }

  PartShare share_of(const FusedPart& part) const {
    if (part.heads == 0) return {chunk(part.size, rank_, tp_size_), chunk_length(part.size, tp_size_)};
    const int64_t head_rows = part.size / part.heads;
    if (part.heads_per_group > 0) {
      const int64_t groups = part.heads / part.heads_per_group, group_rows = part.heads_per_group * head_rows;
      const Range range = chunk(groups, rank_, tp_size_);
      return {{range.begin * group_rows, range.end * group_rows}, chunk_length(groups, tp_size_) * group_rows};
    }
    if (part.heads % tp_size_ == 0) {
      const int64_t length = part.heads / tp_size_ * head_rows;
      return {{rank_ * length, (rank_ + 1) * length}, length};
    }
    if (style_ == Style::kKvReplicated && tp_size_ % part.heads == 0) {
      const int64_t head = rank_ * part.heads / tp_size_;
      return {{head * head_rows, (head + 1) * head_rows}, head_rows};
    }
    cannot_cut(module_, style_, tp_size_);
  }

  const ModuleSpec& module_;
  Style style_;
  int rank_, tp_size_;
};

enum class CutAxis { kNone, kRows, kColumns, kExperts };

CutAxis axis_of(Style style) {
  switch (style) {
    case Style::kColwise:
    case Style::kColwiseGatherOutput:
    case Style::kPackedColwise:
    case Style::kEmbeddingRowwise:
    case Style::kKvReplicated:
      return CutAxis::kRows;
    case Style::kRowwise:
    case Style::kRowwiseSplitInput:
    case Style::kPackedRowwise:
    case Style::kEmbeddingColwise:
      return CutAxis::kColumns;
    case Style::kGroupedGemm:
      return CutAxis::kExperts;
    default:
      return CutAxis::kNone;
  }
}

// The parts that the rows of a module are cut in.
std::vector<FusedPart> row_parts(const ModuleSpec& module, Style style, int64_t rows, int tp_size) {
  if (style == Style::kColwiseGatherOutput || style == Style::kEmbeddingRowwise) return {{rows}};
  if (module.parts.empty()) return {{rows, module.heads_out, module.heads_per_group}};
  if (style == Style::kColwise && tp_size > 1) cannot_cut(module, style, tp_size);
  return module.parts;
}

}  // namespace

int64_t ShardSlice::stored_elements(const std::vector<int64_t>& global_shape) const {
  if (whole()) return product(global_shape);
  int64_t length = 0;
  for (const SliceRun& run : runs) length += run.count;
  std::vector<int64_t> shape = global_shape;
  shape[dim] = length;
  return product(shape);
}

int64_t ShardSlice::local_elements() const {
  return product(local_shape);
}

Range chunk(int64_t size, int rank, int tp_size) {
  const int64_t length = chunk_length(size, tp_size);
  return {std::min(size, rank * length), std::min(size, (rank + 1) * length)};
}

int64_t chunk_length(int64_t size, int tp_size) {
  return (size + tp_size - 1) / tp_size;
}

ShardSlice weight_slice(const ModuleSpec& module, Style style, int rank, int tp_size) {
  const std::vector<int64_t>& shape = module.weight_shape;
  const int dims = static_cast<int>(shape.size());
  const Cutter cutter(module, style, rank, tp_size);
  switch (axis_of(style)) {
    case CutAxis::kNone:
      return {.dim = -1, .runs = {}, .local_shape = shape};
    case CutAxis::kExperts:
      return cutter.cut(shape, 0, {{shape[0]}});
    case CutAxis::kRows: {
      const int dim = std::max(0, dims - 2);
      return cutter.cut(shape, dim, row_parts(module, style, shape[dim], tp_size));
    }
    case CutAxis::kColumns: {
      if (dims < 2) cannot_cut(module, style, tp_size);
      if (style == Style::kPackedRowwise) return cutter.cut(shape, dims - 1, module.parts);
      const int64_t heads = style == Style::kRowwise ? module.heads_in : 0;
      return cutter.cut(shape, dims - 1, {{shape[dims - 1], heads, module.heads_per_group}});
    }
  }
  cannot_cut(module, style, tp_size);
}

std::vector<int64_t> part_features_local(const ModuleSpec& module, Style style, int tp_size) {
  const bool cut = style == Style::kPackedColwise || style == Style::kKvReplicated;
  const Cutter cutter(module, style, 0, tp_size);
  std::vector<int64_t> features;
  for (const FusedPart& part : module.parts) features.push_back(cut ? cutter.local_length(part) : part.size);
  return features;
}

ShardSlice bias_slice(const ModuleSpec& module, Style style, int rank, int tp_size) {
  const std::vector<int64_t> shape(module.weight_shape.begin(), module.weight_shape.end() - (module.weight_shape.size() > 1));
  const int dim = static_cast<int>(shape.size()) - 1;
  const Cutter cutter(module, style, rank, tp_size);
  switch (axis_of(style)) {
    case CutAxis::kRows:
      return cutter.cut(shape, dim, row_parts(module, style, shape[dim], tp_size));
    case CutAxis::kExperts:
      return cutter.cut(shape, 0, {{shape[0]}});
    default:
      return {.dim = -1, .runs = {}, .local_shape = shape};
  }
}

}  // namespace tp
