#include "runtime/eager_activation.h"

#include <ATen/ATen.h>

namespace tp {

at::Tensor activated(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kRelu2:
      return at::relu(x).square_();
    case Activation::kQuickGelu:
      return at::sigmoid(x * 1.702).mul_(x);
  }
  return x;
}

}  // namespace tp
