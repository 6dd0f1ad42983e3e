#include "runtime/cpu/row_kernels.h"

namespace tp::cpu {

const RowKernels& row_kernels(Isa isa) {
  if (isa == Isa::kPlain) return *row_kernels_plain();
  return isa == Isa::kAvx2 ? *row_kernels_avx2() : *row_kernels_avx512();
}

}  // namespace tp::cpu
