#pragma once

#include <algorithm>

#include "runtime/cpu/attention.h"
#include "runtime/cpu/row_kernels.h"

namespace tp::cpu {

// What the two ways of attention share: one call with the addresses of its parts.
struct AttentionCall {
  ConstRows q;
  const AttentionBatch& batch;
  const LayerCache& cache;
  const AttentionRule& rule;
  Rows out;
  const Context& context;
  const RowKernels& kernels;

  int64_t group() const { return rule.heads / cache.kv_heads; }
  int64_t element_bytes() const { return size_bytes(cache.dtype); }
  const std::byte* keys(int64_t row, int64_t kv_head, int64_t position) const {
    return static_cast<const std::byte*>(cache.k) + index(row, kv_head, position) * cache.head_dim * element_bytes();
  }
  const std::byte* values(int64_t row, int64_t kv_head, int64_t position) const {
    return static_cast<const std::byte*>(cache.v) + index(row, kv_head, position) * cache.value_dim * element_bytes();
  }
  // nullptr for a cache that is not quantized.
  const float* key_scales(int64_t row, int64_t kv_head, int64_t position) const {
    return cache.k_scales == nullptr ? nullptr : cache.k_scales + index(row, kv_head, position);
  }
  const float* value_scales(int64_t row, int64_t kv_head, int64_t position) const {
    return cache.v_scales == nullptr ? nullptr : cache.v_scales + index(row, kv_head, position);
  }
  int64_t first_key(int64_t position) const {
    if (rule.chunked) return position - position % rule.window;
    return rule.window > 0 ? std::max<int64_t>(0, position - rule.window + 1) : 0;
  }
  // The queries of one group at one line of the call, as float32 [group, head_dim].
  void load_queries(int64_t line, int64_t kv_head, float* to) const {
    const int64_t count = group() * cache.head_dim, bytes = q.dtype == DType::kF32 ? 4 : 2;
    kernels.convert(static_cast<const std::byte*>(q.row(line)) + kv_head * count * bytes, q.dtype, count, to, DType::kF32);
  }
  // Rounds the results [heads, value_dim] of heads from `head` on to their place in a line.
  void store_results(int64_t line, int64_t head, int64_t heads, const float* from) const {
    const int64_t bytes = out.dtype == DType::kF32 ? 4 : 2;
    std::byte* to = static_cast<std::byte*>(out.row(line)) + head * cache.value_dim * bytes;
    kernels.convert(from, DType::kF32, heads * cache.value_dim, to, out.dtype);
  }

 private:
  int64_t index(int64_t row, int64_t kv_head, int64_t position) const {
    return (batch.slot[row] * cache.kv_heads + kv_head) * cache.cache_len + position;
  }
};

// One position of one row against all its keys: for decode, where keys and values pass once.
void attend_positions(const AttentionCall& call);
// Blocks of queries against blocks of keys, for rows with more than one position.
void attend_blocks(const AttentionCall& call);

}  // namespace tp::cpu
