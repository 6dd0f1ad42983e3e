#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/cpu/thread_pool.h"
#include "runtime/parameter_table.h"
#include "runtime/quantized_product.h"
#include "runtime/stored_blocks.h"
#include "sharding/mapped_file.h"

namespace tp {

// A linear weight of one rank as integers (any kind but kStored), [experts * out] rows one after the other as cpu/quantize.h has
// them. What no block covers is zero.
struct IntegerWeight {
  std::vector<std::byte> q;
  std::vector<std::byte> scales;  // in Parameter::scale_dtype
  std::vector<uint8_t> zeros;     // lie as the scales do, 0 to 16; empty = all are 8 (int4) or 0 (int8)
};

// What is stored quantized is taken as it is, other weights are quantized. Throws Error for a weight that is not finite, and for
// int4 scales of several dtypes.
IntegerWeight load_integer_weight(const Parameter& parameter, const std::vector<StoredBlock>& blocks,
                                  const std::vector<MappedFile>& files, cpu::ThreadPool& pool);

// Quantizes the rows of a block that is stored in a float dtype, int8 with the scale of the whole stored row, also where the
// block has a part of it: a cut must not change the integers. The scales are bfloat16. False where a weight is not finite.
bool quantize_block(const StoredBlock& block, WeightKind kind, const IntegerRows& to, const std::vector<MappedFile>& files,
                    cpu::ThreadPool& pool);

}  // namespace tp
