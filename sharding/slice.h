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
  std::vector<SliceRun> runs;        // in order of target_begin, none empty; adjacent ones are joined
  std::vector<int64_t> local_shape;  // with padding
  bool whole() const { return dim < 0; }
  // Elements that come from the file; the rest of the local tensor is padding.
  int64_t stored_elements(const std::vector<int64_t>& global_shape) const;
  int64_t local_elements() const;
};

// Slice of a module's weight (bias) for `rank` of `tp_size` under `style`. The combination must have passed the plan
// check (plan_check.h); one that cannot be cut throws std::logic_error.
//
// What is cut where: colwise cuts the rows (dim 0; the one before the last of stacked expert weights), on head boundaries
// where the rows are heads; colwise_gather_output plain rows; rowwise the columns, on head boundaries where they are
// heads; rowwise_split_input plain columns; packed_colwise every part of a fused weight on its own, one after the other in
// the local tensor; kv_replicated gives rank r KV head floor(r * kv_heads / tp_size), and is colwise where tp_size divides
// the heads; with heads_per_group set, heads are dealt out in whole groups and the last ranks get fewer; grouped_gemm cuts the
// experts (dim 0). A bias goes with the rows; a rowwise one is whole on every rank and added once, after the sum.
ShardSlice weight_slice(const ModuleSpec& module, Style style, int rank, int tp_size);
ShardSlice bias_slice(const ModuleSpec& module, Style style, int rank, int tp_size);

// Features of each part (q, k and v; gate and up) in the output that a fused module has on every rank, padding included.
std::vector<int64_t> part_features_local(const ModuleSpec& module, Style style, int tp_size);

// Splits `size` as torch.chunk does: every shard ceil(size / tp_size) long, the last ones shorter or empty.
struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};
Range chunk(int64_t size, int rank, int tp_size);

// Length of the longest of those shards: every rank's local length, padding included.
int64_t chunk_length(int64_t size, int tp_size);

}  // namespace tp
