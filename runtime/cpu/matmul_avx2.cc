#include "runtime/cpu/matmul_tile.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "runtime/cpu/vector_avx2.h"

namespace tp::cpu {

const MatmulPath* matmul_path_avx2() {
  static constexpr MatmulPath kPath = path_of<Avx2>(Isa::kAvx2);
  return &kPath;
}

}  // namespace tp::cpu

#else

const tp::cpu::MatmulPath* tp::cpu::matmul_path_avx2() {
  return nullptr;
}

#endif
