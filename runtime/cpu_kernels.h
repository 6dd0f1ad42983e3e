#pragma once

#include <cstdint>

#include "sharding/dtype.h"
#include "sharding/model_config.h"

namespace tp {

// Inner loops of the CPU engine, compiled for several instruction sets; the best one that the processor has runs. All sums
// are float32. `dtype` is kF32, kBF16 or kF16; pointers need no alignment.

// y[m * ldy + n] = sum_k x[m, k] w[n, k] for m < rows and n in [begin, end); x [rows, inner] float32, w [.., inner]. Reads w
// once for up to four rows, so it runs at memory speed for few rows.
void dot_rows(const float* x, int64_t rows, int64_t inner, const void* w, DType dtype, int64_t begin, int64_t end, float* y,
              int64_t ldy);

// One KV head of one sequence's attention at one position: the queries of a group against the keys it may see.
struct GroupAttention {
  const float* q = nullptr;  // [group, dim]
  int64_t group = 0;
  const void* k = nullptr;  // [keys, dim]
  const void* v = nullptr;  // [keys, dim_v]
  DType dtype = DType::kF32;
  int64_t keys = 0, dim = 0, dim_v = 0;
  float scale = 1.0f;
  float softcap = 0.0f;          // 0 = none
  const float* sinks = nullptr;  // [group] logits that take part in the softmax and carry no value; may be null
};
// out [group, dim_v] float32; `scores` is room for group * keys floats.
void attend(const GroupAttention& attention, float* scores, float* out);

// out = norm of each of the `groups` runs of `size` floats of x; weight and bias [size] may be null.
void norm_rows(const float* x, int64_t groups, int64_t size, NormKind kind, float eps, const float* weight, const float* bias,
               float* out);

// softmax of `count` scores in place; `sink` as above, may be null.
void softmax_in_place(float* scores, int64_t count, const float* sink);

}  // namespace tp
