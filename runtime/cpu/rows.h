#pragma once

#include <cstdint>

#include "sharding/dtype.h"

namespace tp::cpu {

// A matrix in memory: row r starts `stride` elements after row r - 1. `dtype` is kF32, kBF16 or kF16.
struct ConstRows {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t stride = 0;
};

struct Rows {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t stride = 0;
};

}  // namespace tp::cpu
