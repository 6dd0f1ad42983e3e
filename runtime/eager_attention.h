#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "runtime/engine.h"
#include "runtime/ops.h"

namespace tp {

// Keys and values of one layer, [slots, kv_heads_local, cache_len, head_dim] in the model's dtype.
struct LayerCache {
  at::Tensor k, v;
};

// Writes the real positions of k and v [B * T, kv_heads_local * head_dim] (rows may be strided) to the cache.
void append_to_cache(const LayerCache& cache, const Batch& batch, const at::Tensor& k, const at::Tensor& v);

// Attention of the call's real positions over the cache (ops.h). q [B * T, heads_local * head_dim] float32 contiguous; the
// result has the same shape, padding zero. `sinks` [heads_local] float32 or undefined.
at::Tensor attend_over_cache(const LayerCache& cache, const Batch& batch, const at::Tensor& q, const AttentionSpec& spec,
                             const at::Tensor& sinks);

}  // namespace tp
