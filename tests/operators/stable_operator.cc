// The operator of rms_norm_operator.cc over torch's stable ABI, which later versions of torch load too.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <cmath>

namespace {

using torch::stable::Tensor;

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  Tensor out = torch::stable::empty_like(x);
  const int64_t size = x.size(-1), lines = x.numel() / size;
  const auto* scale = static_cast<const float*>(weight.data_ptr());
  for (int64_t line = 0; line < lines; ++line) {
    const float* from = static_cast<const float*>(x.data_ptr()) + line * size;
    float* to = static_cast<float*>(out.data_ptr()) + line * size;
    float power = 0;
    for (int64_t i = 0; i < size; ++i) power += from[i] * from[i];
    const float factor = 1.0F / std::sqrt(power / static_cast<float>(size) + static_cast<float>(eps));
    for (int64_t i = 0; i < size; ++i) to[i] = from[i] * factor * scale[i];
  }
  return out;
}

}  // namespace

STABLE_TORCH_LIBRARY(_stable_rms_norm_1a2b3c4, ops) {
  ops.def("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor");
}
STABLE_TORCH_LIBRARY_IMPL(_stable_rms_norm_1a2b3c4, CPU, ops) {
  ops.impl("rms_norm", TORCH_BOX(&rms_norm));
}
