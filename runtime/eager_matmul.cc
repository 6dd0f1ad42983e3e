#include "runtime/eager_matmul.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "runtime/cpu_kernels.h"
#include "runtime/eager_tensor.h"

namespace tp {
namespace {

// Up to this many rows the weights are the cost: read once, in their own dtype.
constexpr int64_t kFewRows = 8;
// Elements of weight that are worth a thread of their own.
constexpr int64_t kGrainElements = 1 << 15;
// Elements of the widened block: it stays in the last cache level.
constexpr int64_t kWidenedElements = 1 << 21;

}  // namespace

at::Tensor EagerMatmul::operator()(const at::Tensor& x, const at::Tensor& weight) {
  const int64_t rows = x.size(0), inner = x.size(1), out = weight.size(0);
  if (rows <= kFewRows) {
    at::Tensor y = at::empty({rows, out}, x.options());
    const float* from = x.const_data_ptr<float>();
    float* to = y.mutable_data_ptr<float>();
    const DType dtype = dtype_of(weight);
    at::parallel_for(0, out, std::max<int64_t>(1, kGrainElements / inner), [&](int64_t begin, int64_t end) {
      dot_rows(from, rows, inner, weight.const_data_ptr(), dtype, begin, end, to, out);
    });
    return y;
  }
  if (weight.scalar_type() == at::kFloat) return at::mm(x, weight.t());
  // libtorch's own 16-bit products round their result or run at a fraction of its float32 ones on most processors.
  const int64_t block = std::clamp<int64_t>(kWidenedElements / inner, 1, out);
  if (!widened_.defined() || widened_.numel() < block * inner) widened_ = at::empty({block * inner}, x.options());
  at::Tensor y = at::empty({rows, out}, x.options());
  for (int64_t begin = 0; begin < out; begin += block) {
    const int64_t count = std::min(block, out - begin);
    at::Tensor wide = widened_.narrow(0, 0, count * inner).view({count, inner});
    wide.copy_(weight.narrow(0, begin, count));
    at::Tensor part = y.narrow(1, begin, count);
    at::mm_out(part, x, wide.t());
  }
  return y;
}

}  // namespace tp
