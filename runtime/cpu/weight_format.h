#pragma once

#include <cstdint>

#include "sharding/dtype.h"

namespace tp::cpu {

// How a packed weight is stored. Every format keeps panels of kPanel outputs; inside a panel the inputs follow each other in
// steps of 64 bytes (32 for kF16), so that a panel is one stream. The layouts are those of the widest instruction that reads
// them (vdpbf16ps, tdpbf16ps, vpdpbusd), and the narrower ones read the same bytes:
//   kF32   [in][16]        kF16  [in][16]
//   kBF16  [in/2][16][2]   pairs of inputs of one output
//   kInt8  [in/4][16][4]   w = q * scale[out], q in [-127, 127]
//   kInt4  [in/8][16][8]   nibbles, lowest first: w = (q - 8) * scale[in/group][out]; 32 and 128 are groups
// Inputs are padded with zeros to kInAlign (the group size, if that is larger), outputs to kPanel.
enum class WeightFormat { kF32, kF16, kBF16, kInt8, kInt4Group32, kInt4Group128 };
inline constexpr int kFormatCount = 6;

inline constexpr int64_t kPanel = 16;
inline constexpr int64_t kInAlign = 32;
// Inputs that are summed before they are added to the result. A fixed length, the same for every kernel: it bounds the error
// of long sums, and the sum of an output does not depend on how many rows, outputs or threads there are.
inline constexpr int64_t kInBlock = 256;

constexpr int bits(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return 32;
    case WeightFormat::kF16:
    case WeightFormat::kBF16:
      return 16;
    case WeightFormat::kInt8:
      return 8;
    case WeightFormat::kInt4Group32:
    case WeightFormat::kInt4Group128:
      return 4;
  }
  return 0;
}

// Inputs that share a scale; 0 = none do, or all (kInt8).
constexpr int64_t group_size(WeightFormat format) {
  return format == WeightFormat::kInt4Group32 ? 32 : format == WeightFormat::kInt4Group128 ? 128 : 0;
}

}  // namespace tp::cpu
