#include "runtime/eager_value.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>

#include <stdexcept>

namespace tp {
namespace {

DType dtype_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return DType::kF32;
    case at::kBFloat16:
      return DType::kBF16;
    case at::kHalf:
      return DType::kF16;
    default:
      throw std::logic_error("value_over: not a model's dtype");
  }
}

}  // namespace

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

at::Tensor EagerValue::tensor() const {
  return at::from_blob(rows.data, {lines, features}, {rows.stride, 1}, scalar_type(rows.dtype));
}

std::shared_ptr<EagerValue> empty_value(int64_t lines, int64_t features, DType dtype) {
  auto value = std::make_shared<EagerValue>();
  // Not at::empty: its way through the dispatcher is longer than many of the loops that fill a decode step's values.
  value->memory = at::detail::empty_cpu({lines, features}, scalar_type(dtype));
  value->rows = {value->memory.mutable_data_ptr(), dtype, features};
  value->lines = lines;
  value->features = features;
  return value;
}

std::shared_ptr<EagerValue> value_over(const at::Tensor& tensor) {
  auto value = std::make_shared<EagerValue>();
  value->memory = tensor.contiguous();
  value->rows = {value->memory.mutable_data_ptr(), dtype_of(tensor), tensor.size(1)};
  value->lines = tensor.size(0);
  value->features = tensor.size(1);
  return value;
}

std::shared_ptr<EagerValue> feature_view(const EagerValue& value, int64_t begin, int64_t size) {
  auto view = std::make_shared<EagerValue>(value);
  view->rows.data = static_cast<std::byte*>(value.rows.data) + begin * size_bytes(value.rows.dtype);
  view->features = size;
  return view;
}

}  // namespace tp
