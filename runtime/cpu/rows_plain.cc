#include "runtime/cpu/row_table.h"
#include "runtime/cpu/vector_plain.h"

namespace tp::cpu {

const RowKernels* row_kernels_plain() {
  static constexpr RowKernels kKernels = row_kernels_of<Plain>();
  return &kKernels;
}

}  // namespace tp::cpu
