#include "runtime/float_convert.h"

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

template <class Load>
void store_each(void* to, DType dtype, int64_t count, Load load_element) {
  switch (dtype) {
    case DType::kF32:
      for (int64_t i = 0; i < count; ++i) store(to, i, load_element(i));
      return;
    case DType::kBF16:
      for (int64_t i = 0; i < count; ++i) store(to, i, float_to_bfloat16(load_element(i)));
      return;
    case DType::kF16:
      for (int64_t i = 0; i < count; ++i) store(to, i, float_to_float16(load_element(i)));
      return;
    default:
      throw std::logic_error("convert_elements: target dtype");
  }
}

}  // namespace

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
  switch (from_dtype) {
    case DType::kF32:
      return store_each(to, to_dtype, count, [from](int64_t i) { return load<float>(from, i); });
    case DType::kBF16:
      return store_each(to, to_dtype, count, [from](int64_t i) { return bfloat16_to_float(load<uint16_t>(from, i)); });
    case DType::kF16:
      return store_each(to, to_dtype, count, [from](int64_t i) { return float16_to_float(load<uint16_t>(from, i)); });
    case DType::kF64:
      return store_each(to, to_dtype, count, [from](int64_t i) { return static_cast<float>(load<double>(from, i)); });
    default:
      throw std::logic_error("convert_elements: source dtype");
  }
}

}  // namespace tp
