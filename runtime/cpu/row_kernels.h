#pragma once

#include <cstdint>

#include "runtime/cpu/isa.h"
#include "sharding/dtype.h"
#include "sharding/model_config.h"

namespace tp::cpu {

// Loops over one row (or one KV head), for one instruction set. Computed in float32, rounded once to the dtype of the result.

// out = norm of `groups` runs of `size` elements (row_ops.h).
struct NormArgs {
  const void* x = nullptr;
  void* out = nullptr;
  DType x_dtype = DType::kF32, out_dtype = DType::kF32;
  int64_t groups = 1, size = 0;
  NormKind kind = NormKind::kRms;
  float eps = 0;
  const float* weight = nullptr;  // nullptr = 1
  const float* bias = nullptr;    // nullptr = 0
  int64_t weight_stride = 0;      // from group to group: 0 or size
};

struct RopeArgs {
  const void* x = nullptr;
  void* out = nullptr;  // may be x
  DType x_dtype = DType::kF32, out_dtype = DType::kF32;
  const float *cos = nullptr, *sin = nullptr;  // [rotary_dim / 2]
  int64_t heads = 0, head_dim = 0, rotary_dim = 0;
  RopeLayout layout = RopeLayout::kHalf;
};

// out = activation(a) * b, or activation(a) where b is nullptr.
struct ActivationArgs {
  const void *a = nullptr, *b = nullptr;
  void* out = nullptr;
  DType a_dtype = DType::kF32, b_dtype = DType::kF32, out_dtype = DType::kF32;
  int64_t count = 0;
  Activation activation = Activation::kSilu;
};

// out = a + b.
struct AddArgs {
  const void *a = nullptr, *b = nullptr;
  void* out = nullptr;
  DType a_dtype = DType::kF32, b_dtype = DType::kF32, out_dtype = DType::kF32;
  int64_t count = 0;
};

// scores[g * stride + j] = q[g] . k[j] for the queries of a group and `keys` keys; of keys in kI8 the integers.
struct ScoreArgs {
  const float* q = nullptr;  // [group, dim]
  const void* k = nullptr;   // [keys, dim]
  DType dtype = DType::kF32;
  int64_t group = 0, keys = 0, dim = 0;
  float* scores = nullptr;
  int64_t stride = 0;
};

// s = softcap(scale * s), then s = e^(s - max), for one query. Returns max and the sum of the results.
struct SoftmaxPart {
  float max = 0, sum = 0;
};

// out[g, :] = sum over j of scores[g * stride + j] * v[j, :].
struct MixArgs {
  const float* scores = nullptr;
  const void* v = nullptr;  // [keys, dim]
  DType dtype = DType::kF32;
  int64_t group = 0, keys = 0, dim = 0, stride = 0;
  float* out = nullptr;  // [group, dim]
};

// One block of keys for `lanes` queries side by side (a multiple of 16): scores [keys, lanes] become e^(s - max) with the
// running maximum; `max` and `sum` [lanes] are brought up to date and `shrink` is what earlier results have to be multiplied
// by.
struct BlockSoftmaxArgs {
  float* scores = nullptr;
  int64_t keys = 0, lanes = 0;
  float scale = 1, softcap = 0;
  const int32_t *first_key = nullptr, *end_key = nullptr;  // [lanes] visible keys, relative to the block
  float *max = nullptr, *sum = nullptr, *shrink = nullptr;
};

// out[r, :] = x[r, :] * factor[r]
struct ScaleRowsArgs {
  float* x = nullptr;
  int64_t rows = 0, count = 0, stride = 0;
  const float* factor = nullptr;
};

// y[r, o] += sum over i of x[r * row_stride + i * in_stride] * w[i, o] for 16 outputs.
struct StridedTileArgs {
  const float* w = nullptr;  // [in, 16]
  const float* x = nullptr;
  int64_t rows = 0, in = 0, row_stride = 0, in_stride = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
};

struct RowKernels {
  void (*norm)(const NormArgs&);
  void (*rope)(const RopeArgs&);
  void (*activation)(const ActivationArgs&);
  void (*add)(const AddArgs&);
  void (*convert)(const void* x, DType x_dtype, int64_t count, void* out, DType out_dtype);
  void (*score)(const ScoreArgs&);
  SoftmaxPart (*softmax)(float* scores, int64_t count, float scale, float softcap);
  void (*mix)(const MixArgs&);
  void (*block_softmax)(const BlockSoftmaxArgs&);
  void (*scale_rows)(const ScaleRowsArgs&);
  void (*strided_tile)(const StridedTileArgs&);  // any number of rows
  void (*widen)(const int8_t* q, int64_t count, float scale, float* out);
};

// Of kPlain, kAvx2 or kAvx512 (KernelChoice::vector); to be called only if available.
const RowKernels& row_kernels(Isa isa);

const RowKernels* row_kernels_plain();
const RowKernels* row_kernels_avx2();
const RowKernels* row_kernels_avx512();

}  // namespace tp::cpu
