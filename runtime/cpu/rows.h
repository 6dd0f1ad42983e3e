#pragma once

#include <cstddef>
#include <cstdint>

#include "sharding/dtype.h"

namespace tp::cpu {

// A matrix in memory: row r starts `stride` elements after row r - 1. `dtype` is kF32, kBF16 or kF16.
struct ConstRows {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t stride = 0;

  const void* row(int64_t r) const { return static_cast<const std::byte*>(data) + r * stride * (dtype == DType::kF32 ? 4 : 2); }
};

struct Rows {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t stride = 0;

  void* row(int64_t r) const { return static_cast<std::byte*>(data) + r * stride * (dtype == DType::kF32 ? 4 : 2); }
  operator ConstRows() const { return {data, dtype, stride}; }
};

}  // namespace tp::cpu
