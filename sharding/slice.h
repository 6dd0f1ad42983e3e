#pragma once

#include <cstdint>
#include <vector>

#include "sharding/parameters.h"
#include "sharding/style.h"

namespace tp {

// A run of the stored tensor along the cut dimension that a rank holds: source rows (or columns)
// [source_begin, source_begin + count) come to [target_begin, target_begin + count) of the local tensor.
struct SliceRun {
  int64_t source_begin = 0;
  int64_t count = 0;
  int64_t target_begin = 0;
  bool operator==(const SliceRun&) const = default;
};

// What one rank holds of one stored tensor. Elements that no run covers are zero padding: local shapes are equal on all
// ranks (design.md), so what does not divide evenly is padded to the largest shard.
struct ShardSlice {
  int dim = -1;                      // the cut dimension; -1: the whole tensor (runs empty)
  std::vector<SliceRun> runs;        // in order of target_begin
  std::vector<int64_t> local_shape;  // with padding
  bool whole() const { return dim < 0; }
  // Elements that come from the file / that are padding.
  int64_t stored_elements(const std::vector<int64_t>& global_shape) const;
};

// Slice of a module's weight (bias) for `rank` of `tp_size` under `style`. The combination must have passed the plan
// check (plan_check.h); one that cannot be cut throws std::logic_error.
ShardSlice weight_slice(const ModuleSpec& module, Style style, int rank, int tp_size);
ShardSlice bias_slice(const ModuleSpec& module, Style style, int rank, int tp_size);

// Splits `size` as torch.chunk does: every shard ceil(size / tp_size) long, the last ones shorter or empty.
struct Range { int64_t begin = 0, end = 0; };
Range chunk(int64_t size, int rank, int tp_size);

}  // namespace tp
