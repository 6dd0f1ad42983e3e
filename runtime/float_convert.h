#pragma once

#include <bit>
#include <cstdint>

#include "sharding/dtype.h"

namespace tp {

// Single elements, inline for the kernels' loops. Rounding is to nearest, ties to even; a NaN stays one.
inline float bfloat16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

inline float float16_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16, magnitude = static_cast<uint32_t>(bits & 0x7fffU) << 13;
  if (magnitude >= 0x0f800000U) return std::bit_cast<float>(sign | magnitude | 0x7f800000U);  // infinity, NaN
  // Moving the exponent by a multiplication gives subnormals their value too.
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F));
}

// What is too large becomes infinite.
inline uint16_t float_to_float16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U, magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);  // rounds to 65536 or more
  if (magnitude < 0x38800000U) {
    // Below 2^-14: adding 0.5 leaves the subnormal's bits, rounded, at the end of the mantissa.
    const uint32_t rounded = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F);
    return static_cast<uint16_t>(sign | (rounded - 0x3f000000U));
  }
  return static_cast<uint16_t>(sign | ((magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13));
}

// `value` as a model of that dtype would hold it. kF32, kBF16 or kF16.
float rounded_to(DType dtype, float value);

// Converts `count` elements between kF32, kBF16, kF16 and (as source) kF64. Neither side need be aligned.
void convert_elements(const void* from, DType from_dtype, void* to, DType to_dtype, int64_t count);

}  // namespace tp
