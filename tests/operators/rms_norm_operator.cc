// A library of torch operators as kernel-builder makes them: operators in a namespace of their own, an entry for Python that
// nobody calls here. What is wrong with some of them is chosen when they are compiled.
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <cmath>
#include <cstdlib>

namespace {

template <typename T>
void normalize(const at::Tensor& x, const at::Tensor& weight, double eps, at::Tensor& out) {
  const int64_t size = x.size(-1), lines = x.numel() / size;
  for (int64_t line = 0; line < lines; ++line) {
    const T* from = x.const_data_ptr<T>() + line * size;
    T* to = out.mutable_data_ptr<T>() + line * size;
    float power = 0;
    for (int64_t i = 0; i < size; ++i) power += static_cast<float>(from[i]) * static_cast<float>(from[i]);
    const float scale = 1.0F / std::sqrt(power / static_cast<float>(size) + static_cast<float>(eps));
    for (int64_t i = 0; i < size; ++i)
      to[i] = static_cast<T>(static_cast<float>(from[i]) * scale * static_cast<float>(weight.const_data_ptr<T>()[i]));
  }
}

void rms_norm_out(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight, double eps) {
  TORCH_CHECK(x.is_contiguous() && weight.is_contiguous(), "x and weight must be contiguous");
  if (x.scalar_type() == at::kFloat) return normalize<float>(x, weight, eps, out);
  TORCH_CHECK(x.scalar_type() == at::kBFloat16, "rms_norm is for float32 and bfloat16");
  normalize<at::BFloat16>(x, weight, eps, out);
}

[[maybe_unused]] at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  at::Tensor out = at::empty_like(x);
  rms_norm_out(out, x, weight, eps);
  return out;
}

#ifdef ENDS_PROCESS
const int kEnd = (std::abort(), 0);
#endif

}  // namespace

#ifdef OTHER_TORCH
namespace c10 {
int64_t of_another_torch();
}
int64_t use_of_another_torch() {
  return c10::of_another_torch();
}
#endif

TORCH_LIBRARY_FRAGMENT(OPERATORS_NAMESPACE, ops) {
#if defined(WRITES_OUT)
  ops.def("rms_norm(Tensor! out, Tensor input, Tensor weight, float epsilon) -> ()");
  ops.impl("rms_norm", c10::DispatchKey::CPU, &rms_norm_out);
#elif defined(OTHER_FORM)
  ops.def("rms_norm(Tensor x, int[] normalized_shape, Tensor? weight) -> Tensor");
#elif defined(OTHER_NAME)
  ops.def("normalize_rows(Tensor x, Tensor weight, float eps) -> Tensor");
  ops.impl("normalize_rows", c10::DispatchKey::CPU, &rms_norm);
#elif defined(OTHER_DEVICE)
  ops.def("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor");
  ops.impl("rms_norm", c10::DispatchKey::CUDA, &rms_norm);
#else
  ops.def("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor");
  ops.impl("rms_norm", c10::DispatchKey::CPU, &rms_norm);
#endif
}

// Python's own declarations, which need no headers of its.
extern "C" {
void* PyModule_Create2(void* definition, int version);
void PyErr_SetString(void* type, const char* text);
[[gnu::visibility("default")]] void* PyInit_rms_norm_operator() {
#ifdef NEEDS_PYTHON
  PyErr_SetString(nullptr, "no module");
#endif
  static char definition[104];
  return PyModule_Create2(definition, 1013);
}
}
