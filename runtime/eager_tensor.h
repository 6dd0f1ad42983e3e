#pragma once

#include <ATen/core/Tensor.h>

#include "runtime/ops.h"
#include "sharding/dtype.h"

namespace tp {

at::ScalarType scalar_type(DType dtype);
DType dtype_of(const at::Tensor& tensor);

// A value of the CPU engine: [rows, features] with rows = B * T (or B after last_position). May be a view.
struct EagerValue : ValueRep {
  explicit EagerValue(at::Tensor value) : tensor(std::move(value)) {}
  at::Tensor tensor;
  // The same in float32, contiguous; made when first asked for and kept, as several linears read one activation.
  const at::Tensor& as_float() const;

 private:
  mutable at::Tensor float_;
};

}  // namespace tp
