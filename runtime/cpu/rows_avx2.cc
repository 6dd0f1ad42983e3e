#include "runtime/cpu/row_table.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "runtime/cpu/vector_avx2.h"

namespace tp::cpu {

const RowKernels* row_kernels_avx2() {
  static constexpr RowKernels kKernels = row_kernels_of<Avx2>();
  return &kKernels;
}

}  // namespace tp::cpu

#else

const tp::cpu::RowKernels* tp::cpu::row_kernels_avx2() {
  return nullptr;
}

#endif
