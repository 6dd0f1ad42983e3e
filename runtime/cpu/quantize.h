#pragma once

#include <cstdint>

#include "runtime/cpu/rows.h"
#include "runtime/cpu/weight_format.h"

namespace tp::cpu {

// Symmetric integers for the rows of a weight [out, in], stored row by row as compressed-tensors stores them:
//   kInt8    q int8 [out, in], one scale per row:               w = q * scale, q in [-127, 127]
//   kInt4*   q nibbles [out, in / 2 bytes], lowest first, q + 8: w = q * scale[in / group], q in [-8, 7]
// Scales are bfloat16; they may be negative for kInt4*, and 0 stands for a run of zeros.

// Bytes of a row of `in` inputs, and its scales. `in` is a multiple of 8, and of the group.
int64_t quantized_row_bytes(WeightFormat format, int64_t in);
int64_t scales_per_row(WeightFormat format, int64_t in);

// kInt8: the scale of row `r`, from all of its `in` inputs. A rank that holds a part of the inputs must take the scale of the
// whole row, so that a cut changes nothing. NaN where a weight is not finite.
uint16_t int8_scale(const ConstRows& weight, int64_t r, int64_t in);

// Quantizes row `r`. kInt8 takes *scales; kInt4* finds the scale of each group that gives the least square error and writes it.
// False where a weight is not finite.
bool quantize_row(const ConstRows& weight, int64_t r, int64_t in, WeightFormat format, uint16_t* scales, void* q);

}  // namespace tp::cpu
