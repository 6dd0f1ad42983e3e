#pragma once

#include <ATen/core/Tensor.h>

namespace tp {

// Matrix products of the CPU engine: float32 activations times weights as stored, accumulated and returned in float32. The one
// place where the way to compute them is chosen.
class EagerMatmul {
 public:
  // x [rows, inner] float32 contiguous, weight [out, inner] contiguous: x weight^T, [rows, out] float32.
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& weight);

 private:
  at::Tensor widened_;  // float32 copy of a block of weight rows
};

}  // namespace tp
