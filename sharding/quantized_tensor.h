#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sharding/safetensors.h"

namespace tp {

// How the numbers of a quantized weight [out, in] lie in its file.
enum class StoredPacking {
  kInt8,        // int8 [out, in]
  kFloat8,      // float8_e4m3 [out, in]
  kPackedInt4,  // compressed-tensors: int32 [out, in/8], the lowest nibble first, q + 8
  kPackedInt8,  // compressed-tensors: int32 [out, in/4], the lowest byte first, q + 128
  kGptq,        // int32 [in/8, out], the lowest nibble first
  kAwq,         // int32 [in, out/8], nibbles in the order of the outputs 0 2 4 6 1 3 5 7
};

// One of the tensors that a method has written for a weight.
struct StoredPart {
  std::string name;
  TensorEntry entry;
  int file = 0;  // index into Checkpoint::files
};

// A weight as a method has stored it: w[o, i] = (q[o, i] - zero) * scale, where scale and zero belong to group_out outputs and
// group_in inputs. Without zeros the zero is 8 for nibbles and 0 for the others.
struct QuantizedTensor {
  StoredPacking packing = StoredPacking::kInt8;
  int64_t out = 0, in = 0;
  int64_t group_out = 1, group_in = 0;
  StoredPart values, scales;  // scales: [out / group_out, in / group_in] in F32, F16 or BF16; kGptq, kAwq: the other way round
  // kPackedInt4: int32 [out/8, groups], q + 8; kInt8: int8 [out, groups]; kGptq, kAwq: int32 [groups, out/8] as the values.
  std::optional<StoredPart> zeros;
  int zero_offset = 0;  // what the method adds to a stored zero
  // config.json says that all zeros are 8 although GPTQ stores them; check_scales makes sure of it.
  bool symmetric = false;
  // Of every input its group; only where it says nothing new (no act-order), which check_scales makes sure of.
  std::optional<StoredPart> group_index;

  int64_t groups() const { return (in + group_in - 1) / group_in; }
  bool scales_transposed() const { return packing == StoredPacking::kGptq || packing == StoredPacking::kAwq; }
  bool nibbles() const { return scales_transposed() || packing == StoredPacking::kPackedInt4; }
  // Outputs that share an int32 of the values, and inputs: no cut divides them.
  int64_t pack_out() const { return packing == StoredPacking::kAwq ? 8 : 1; }
  int64_t pack_in() const {
    return packing == StoredPacking::kPackedInt8                                      ? 4
           : packing == StoredPacking::kPackedInt4 || packing == StoredPacking::kGptq ? 8
                                                                                      : 1;
  }
};

}  // namespace tp
