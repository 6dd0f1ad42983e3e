#include "runtime/stored_blocks.h"

#include <algorithm>
#include <array>

#include "sharding/error.h"

namespace tp {
namespace {

// What a rank takes along each of the three dimensions, in the indices of the whole tensor.
using Selection = std::array<std::vector<SliceRun>, 3>;

Selection selection(const Parameter& parameter) {
  const Extents whole = extents(parameter.stored_shape);
  Selection result = {{{{0, whole.experts, 0}}, {{0, whole.rows, 0}}, {{0, whole.columns, 0}}}};
  if (!parameter.slice.whole())
    result[3 - parameter.stored_shape.size() + static_cast<size_t>(parameter.slice.dim)] = parameter.slice.runs;
  return result;
}

// Leaves out row `dropped` of the stored tensor: what no block fills is zero.
std::vector<StoredBlock> without_row(const std::vector<StoredBlock>& blocks, int64_t dropped) {
  std::vector<StoredBlock> kept;
  for (const StoredBlock& block : blocks) {
    const int64_t before = dropped - block.offset / block.stride;
    if (before < 0 || before >= block.rows) {
      kept.push_back(block);
      continue;
    }
    StoredBlock first = block, second = block;
    first.rows = before;
    second.rows = block.rows - before - 1;
    second.offset += (before + 1) * block.stride;
    second.row += before + 1;
    if (first.rows > 0) kept.push_back(first);
    if (second.rows > 0) kept.push_back(second);
  }
  return kept;
}

// None for a parameter that may be missing and is.
std::vector<WeightSource> find_sources(const Parameter& parameter, const Checkpoint& checkpoint) {
  std::vector<WeightSource> sources;
  if (!parameter.is_bias) {
    sources = weight_sources(checkpoint, parameter.module);
  } else if (const StoredTensor* stored = find_bias(checkpoint, parameter.module)) {
    sources = {{stored}};
  }
  if (sources.empty() && parameter.tied)
    if (const StoredTensor* stored = find_weight(checkpoint, *parameter.tied)) sources = {{stored}};
  if (sources.empty() && !parameter.module.may_be_missing) throw Error(checkpoint.dir, "no tensor named " + parameter.name());
  return sources;
}

// What `runs` take of [begin, end) of the whole dimension: source indices count from `begin`.
std::vector<SliceRun> overlaps(const std::vector<SliceRun>& runs, int64_t begin, int64_t end) {
  std::vector<SliceRun> result;
  for (const SliceRun& run : runs) {
    const int64_t from = std::max(begin, run.source_begin), to = std::min(end, run.source_begin + run.count);
    if (from < to) result.push_back({from - begin, to - from, run.target_begin + from - run.source_begin});
  }
  return result;
}

// A rank's part of one source.
void add_blocks(const WeightSource& source, const Selection& selected, std::vector<StoredBlock>& blocks) {
  const Extents piece = extents(source.tensor->entry.shape);
  const int64_t expert_begin = std::max<int64_t>(0, source.expert);
  for (const SliceRun& experts : overlaps(selected[0], expert_begin, expert_begin + piece.experts)) {
    for (int64_t i = 0; i < experts.count; ++i) {
      for (const SliceRun& rows : overlaps(selected[1], source.row_begin, source.row_begin + piece.rows)) {
        const int64_t line = (experts.source_begin + i) * piece.rows + rows.source_begin;
        for (const SliceRun& columns : selected[2])
          blocks.push_back({source.tensor, line * piece.columns + columns.source_begin, piece.columns, rows.count,
                            columns.count, experts.target_begin + i, rows.target_begin, columns.target_begin});
      }
    }
  }
}

}  // namespace

Extents extents(const std::vector<int64_t>& shape) {
  std::array<int64_t, 3> sizes{1, 1, 1};
  std::copy(shape.begin(), shape.end(), sizes.end() - static_cast<int64_t>(shape.size()));
  return {sizes[0], sizes[1], sizes[2]};
}

std::vector<StoredBlock> stored_blocks(const Parameter& parameter, const Checkpoint& checkpoint) {
  const Selection selected = selection(parameter);
  std::vector<StoredBlock> blocks;
  for (const WeightSource& source : find_sources(parameter, checkpoint)) add_blocks(source, selected, blocks);
  // A head of its own has the row.
  const bool own_head = parameter.module.role == Role::kLmHead && find_weight(checkpoint, parameter.module) != nullptr;
  return parameter.zero_row && !own_head ? without_row(blocks, *parameter.zero_row) : blocks;
}

}  // namespace tp
