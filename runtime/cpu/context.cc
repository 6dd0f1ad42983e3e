#include "runtime/cpu/context.h"

#include <algorithm>

#include "runtime/cpu/matmul_path.h"

namespace tp::cpu {

KernelChoice KernelChoice::only(Isa isa) {
  switch (isa) {
    case Isa::kAvxVnni:
      return {Isa::kAvx2, Isa::kAvx2, Isa::kAvx2, isa};
    case Isa::kAvx512Vnni:
      return {Isa::kAvx512, Isa::kAvx512, Isa::kAvx512, isa};
    default:
      return {std::min(isa, Isa::kAvx512), isa, isa, std::min(isa, Isa::kAvx2)};
  }
}

const MatmulPath& path_for(const KernelChoice& choice, WeightFormat format, DType x, int64_t rows) {
  // Pairs are taken from bfloat16 rows only: float32 rows would be rounded once more.
  const bool pairs = format == WeightFormat::kBF16 && x == DType::kBF16;
  const Isa isa = !pairs ? choice.vector : rows <= kFewRows ? choice.bf16_few : choice.bf16_many;
  return *matmul_path(isa);
}

const MatmulPath& integer_path_for(const KernelChoice& choice) {
  return *integer_path(choice.integers);
}

}  // namespace tp::cpu
