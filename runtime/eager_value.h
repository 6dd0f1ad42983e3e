#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "runtime/cpu/rows.h"
#include "runtime/ops.h"
#include "sharding/dtype.h"

namespace tp {

at::ScalarType scalar_type(DType dtype);

// A value of the CPU engine: [lines, features] with lines = B * T (or B after last_position) in the memory of a tensor, which
// several values may share: lines may be further apart than they are long.
struct EagerValue : ValueRep {
  at::Tensor memory;
  cpu::Rows rows;
  int64_t lines = 0, features = 0;

  bool contiguous() const { return rows.stride == features || lines == 1; }
  int64_t line_bytes() const { return features * size_bytes(rows.dtype); }
  // As a tensor of ATen over the same memory, to be used while this value lives.
  at::Tensor tensor() const;
};

// Uninitialized.
std::shared_ptr<EagerValue> empty_value(int64_t lines, int64_t features, DType dtype);
// Over a tensor [lines, features] of a model's dtype.
std::shared_ptr<EagerValue> value_over(const at::Tensor& tensor);
// Features [begin, begin + size) of a value, in its memory.
std::shared_ptr<EagerValue> feature_view(const EagerValue& value, int64_t begin, int64_t size);

}  // namespace tp
