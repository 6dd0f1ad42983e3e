#pragma once

#include <vector>

#include "runtime/cpu/packed_linear.h"
#include "runtime/stored_blocks.h"
#include "sharding/mapped_file.h"
#include "sharding/weight_kind.h"

namespace tp {

// The kernels' name of a kind that is not kStored.
cpu::WeightFormat packed_format(WeightKind kind);

// Whether each group has a zero point.
bool has_zero_points(WeightKind kind);

// Rows of a weight as integers, as cpu/quantize.h has them: row r's integers begin row_bytes, its scales scale_stride elements
// after those of row r - 1. Zero points (0 to 16) lie as the scales do; nullptr = there are none.
struct IntegerRows {
  std::byte *q = nullptr, *scales = nullptr;
  uint8_t* zeros = nullptr;
  int64_t row_bytes = 0, scale_stride = 0;
};

// Writes the stored integers, zero points and scales (F16 and BF16 as they are, or all as F32) of a block that is kept as `kind`
// (kept_kind).
void copy_integers(const StoredBlock& block, WeightKind kind, DType scale_dtype, const IntegerRows& to,
                   const std::vector<MappedFile>& files, cpu::ThreadPool& pool);

// A block of a weight that is stored quantized and its place in a product.
struct QuantizedSource {
  const StoredBlock* block = nullptr;
  int64_t out_begin = 0, in_begin = 0;
};

// The product [out, in] of blocks that are all kept as `kind` (kept_kind): the stored integers, scales and zero points as they
// are, in the kernels' order, in `pages`, which must outlive it. Throws Error where the scales are of two dtypes.
cpu::PackedLinear kept_product(int64_t out, int64_t in, WeightKind kind, const std::vector<QuantizedSource>& sources,
                               const std::vector<MappedFile>& files, cpu::ThreadPool& pool, cpu::HugePages& pages);

// The numbers of a block [rows, columns] in float32. Throws Error for a number that is not finite.
std::vector<float> widened(const StoredBlock& block, const std::vector<MappedFile>& files, cpu::ThreadPool& pool);

}  // namespace tp
