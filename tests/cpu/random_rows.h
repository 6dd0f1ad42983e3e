#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "runtime/cpu/rows.h"
#include "runtime/float_convert.h"

namespace tp::cpu {

// A matrix of random numbers in any of the three dtypes, with a copy of what it holds in double.
struct RandomRows {
  std::vector<std::byte> bytes;
  std::vector<double> values;  // [rows, columns]
  DType dtype;
  int64_t columns;

  RandomRows(int64_t rows, int64_t columns_, DType dtype_, unsigned seed, float scale = 1.0F)
      : dtype(dtype_), columns(columns_) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0F, scale);
    const size_t count = static_cast<size_t>(rows * columns), size = dtype == DType::kF32 ? 4 : 2;
    bytes.resize(count * size);
    for (size_t i = 0; i < count; ++i) {
      const float value = normal(random);
      if (dtype == DType::kF32) {
        std::memcpy(bytes.data() + i * 4, &value, 4);
        values.push_back(value);
        continue;
      }
      const uint16_t half = dtype == DType::kBF16 ? float_to_bfloat16(value) : float_to_float16(value);
      std::memcpy(bytes.data() + i * 2, &half, 2);
      values.push_back(dtype == DType::kBF16 ? bfloat16_to_float(half) : float16_to_float(half));
    }
  }

  double at(int64_t row, int64_t column) const { return values[static_cast<size_t>(row * columns + column)]; }
  ConstRows rows() const { return {bytes.data(), dtype, columns}; }
  // From a row and column on.
  ConstRows from(int64_t row, int64_t column) const {
    return {bytes.data() + (row * columns + column) * (dtype == DType::kF32 ? 4 : 2), dtype, columns};
  }
};

}  // namespace tp::cpu
