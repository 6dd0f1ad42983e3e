#include "runtime/cpu/matmul_path.h"

namespace tp::cpu {

const MatmulPath* matmul_path(Isa isa) {
  switch (isa) {
    case Isa::kPlain:
      return matmul_path_plain();
    case Isa::kAvx2:
      return matmul_path_avx2();
    case Isa::kAvx512:
      return matmul_path_avx512();
    case Isa::kAvx512Bf16:
      return matmul_path_avx512_bf16();
    case Isa::kAmx:
      return matmul_path_amx();
    case Isa::kAvxVnni:
    case Isa::kAvx512Vnni:
      return nullptr;
  }
  return nullptr;
}

const MatmulPath* integer_path(Isa isa) {
  switch (isa) {
    case Isa::kPlain:
      return integer_path_plain();
    case Isa::kAvx2:
      return integer_path_avx2();
    case Isa::kAvxVnni:
      return integer_path_avx_vnni();
    case Isa::kAvx512Vnni:
      return integer_path_avx512_vnni();
    default:
      return nullptr;
  }
}

}  // namespace tp::cpu
