#pragma once

#include <cstdint>

#include "sharding/dtype.h"

namespace tp {

// Single elements. Rounding is to nearest, ties to even; a NaN stays one.
float bfloat16_to_float(uint16_t bits);
uint16_t float_to_bfloat16(float value);
float float16_to_float(uint16_t bits);
uint16_t float_to_float16(float value);

// `value` as a model of that dtype would hold it. kF32, kBF16 or kF16.
float rounded_to(DType dtype, float value);

// Converts `count` elements between kF32, kBF16, kF16 and (as source) kF64. Neither side need be aligned.
void convert_elements(const void* from, DType from_dtype, void* to, DType to_dtype, int64_t count);

}  // namespace tp
