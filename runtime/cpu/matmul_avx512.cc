#include "runtime/cpu/matmul_tile.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "runtime/cpu/vector_avx512.h"

namespace tp::cpu {

const MatmulPath* matmul_path_avx512() {
  static constexpr MatmulPath kPath = path_of<Avx512>(Isa::kAvx512);
  return &kPath;
}

}  // namespace tp::cpu

#else

const tp::cpu::MatmulPath* tp::cpu::matmul_path_avx512() {
  return nullptr;
}

#endif
