#include "runtime/float_convert.h"

#include <bit>
#include <cstring>
#include <stdexcept>

namespace tp {
namespace {

template <class T>
T load(const void* from, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store(void* to, int64_t index, T value) {
  std::memcpy(static_cast<char*>(to) + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

float load_element(const void* from, DType dtype, int64_t index) {
  switch (dtype) {
    case DType::kF32:
      return load<float>(from, index);
    case DType::kBF16:
      return bfloat16_to_float(load<uint16_t>(from, index));
    case DType::kF16:
      return float16_to_float(load<uint16_t>(from, index));
    case DType::kF64:
      return static_cast<float>(load<double>(from, index));
    default:
      throw std::logic_error("convert_elements: source dtype");
  }
}

template <class Store>
void convert_each(const void* from, DType dtype, int64_t count, Store store_element) {
  for (int64_t i = 0; i < count; ++i) store_element(i, load_element(from, dtype, i));
}

}  // namespace

float bfloat16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float float16_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fff) << 13;
  if (magnitude >= 0x0f800000) return std::bit_cast<float>(sign | magnitude | 0x7f800000);  // infinity, NaN
  // Moving the exponent by a multiplication gives subnormals their value too.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

uint16_t float_to_float16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // rounds to 65536 or more
  if (magnitude < 0x38800000) {
    // Below 2^-14: adding 0.5 leaves the subnormal's bits, rounded, at the end of the mantissa.
    const uint32_t rounded = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f);
    return static_cast<uint16_t>(sign | (rounded - 0x3f000000));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

float rounded_to(DType dtype, float value) {
  switch (dtype) {
    case DType::kBF16:
      return bfloat16_to_float(float_to_bfloat16(value));
    case DType::kF16:
      return float16_to_float(float_to_float16(value));
    default:
      return value;
  }
}

void convert_elements(const void* from, DType from_dtype, void* to, DType to_dtype, int64_t count) {
  if (from_dtype == to_dtype) {
    std::memcpy(to, from, static_cast<size_t>(count * size_bytes(to_dtype)));
    return;
  }
  switch (to_dtype) {
    case DType::kF32:
      return convert_each(from, from_dtype, count, [to](int64_t i, float value) { store(to, i, value); });
    case DType::kBF16:
      return convert_each(from, from_dtype, count, [to](int64_t i, float value) { store(to, i, float_to_bfloat16(value)); });
    case DType::kF16:
      return convert_each(from, from_dtype, count, [to](int64_t i, float value) { store(to, i, float_to_float16(value)); });
    default:
      throw std::logic_error("convert_elements: target dtype");
  }
}

}  // namespace tp
