#pragma once

#include <cstdint>

#include "runtime/cpu/context.h"
#include "runtime/cpu/rows.h"

namespace tp::cpu {

// Keys and values of one layer: k [slots, kv_heads, cache_len, head_dim], v [slots, kv_heads, cache_len, value_dim], both in
// `dtype`: kF32, kBF16, kF16, or kI8, quantized (integer_rows.h) with a scale for each head and position. A key's index is its
// absolute position.
struct LayerCache {
  void *k = nullptr, *v = nullptr;
  DType dtype = DType::kF32;
  int64_t kv_heads = 0, cache_len = 0, head_dim = 0, value_dim = 0;
  float *k_scales = nullptr, *v_scales = nullptr;  // kI8: [slots, kv_heads, cache_len]
};

// The rows of a call (engine.h's Batch): row b has length[b] real positions of `width`, the first at absolute position
// start[b].
struct AttentionBatch {
  int64_t rows = 0, width = 0;
  const int32_t *start = nullptr, *length = nullptr, *slot = nullptr;
};

struct AttentionRule {
  int64_t heads = 0;  // of the queries, a multiple of kv_heads: head h reads KV head h / (heads / kv_heads)
  float scale = 1.0F;
  float softcap = 0.0F;          // 0 = none
  int64_t window = 0;            // a query sees keys in (position - window, position]; 0 = all
  bool chunked = false;          // a query sees keys from the last multiple of `window` on
  const float* sinks = nullptr;  // [heads] logits that take part in the softmax and carry no value; may be nullptr
};

// Copies the real positions of k and v [rows * width, kv_heads * dim], which have the cache's dtype or are quantized for it, to
// their places.
void append_to_cache(ConstRows k, ConstRows v, const AttentionBatch& batch, const LayerCache& cache, const Context& context);

// out [rows * width, heads * value_dim] = softmax(rule(q k^T)) v over the cache, for q [rows * width, heads * head_dim].
// Nothing attends past its own position, padding positions become 0. K and V are read where they are; the queries of a group
// share each read. Scores, softmax and sums are float32 in blocks of keys that begin at fixed positions, so that a result
// depends neither on the number of threads nor on the other rows of the call.
void attend(ConstRows q, const AttentionBatch& batch, const LayerCache& cache, const AttentionRule& rule, Rows out,
            const Context& context);

}  // namespace tp::cpu
