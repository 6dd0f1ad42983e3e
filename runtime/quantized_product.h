#pragma once

#include <vector>

#include "runtime/cpu/packed_linear.h"
#include "runtime/stored_blocks.h"
#include "sharding/mapped_file.h"
#include "sharding/weight_kind.h"

namespace tp {

// The kernels' name of a kind that is not kStored.
cpu::WeightFormat packed_format(WeightKind kind);

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
