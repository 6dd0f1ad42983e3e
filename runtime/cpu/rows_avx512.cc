#include "runtime/cpu/row_table.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "runtime/cpu/vector_avx512.h"

namespace tp::cpu {

const RowKernels* row_kernels_avx512() {
  static constexpr RowKernels kKernels = row_kernels_of<Avx512>();
  return &kKernels;
}

}  // namespace tp::cpu

#else

const tp::cpu::RowKernels* tp::cpu::row_kernels_avx512() {
  return nullptr;
}

#endif
