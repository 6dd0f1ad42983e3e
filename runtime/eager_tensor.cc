#include "runtime/eager_tensor.h"

#include <ATen/ATen.h>

#include <stdexcept>

namespace tp {

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return at::kFloat;
    case DType::kBF16:
      return at::kBFloat16;
    case DType::kF16:
      return at::kHalf;
    default:
      throw std::logic_error("scalar_type: not a model's dtype");
  }
}

DType dtype_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return DType::kF32;
    case at::kBFloat16:
      return DType::kBF16;
    case at::kHalf:
      return DType::kF16;
    default:
      throw std::logic_error("dtype_of: not a model's dtype");
  }
}

const at::Tensor& EagerValue::as_float() const {
  if (!float_.defined()) float_ = tensor.to(at::kFloat).contiguous();
  return float_;
}

}  // namespace tp
