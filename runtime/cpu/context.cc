#include "runtime/cpu/context.h"

#include <algorithm>

#include "runtime/cpu/matmul_path.h"

namespace tp::cpu {

KernelChoice KernelChoice::only(Isa isa) {
  return {std::min(isa, Isa::kAvx512), isa, isa};
}

const MatmulPath& path_for(const KernelChoice& choice, WeightFormat format, DType x, int64_t rows) {
  // Pairs are taken from bfloat16 rows only: float32 rows would be rounded once more.
  const bool pairs = format == WeightFormat::kBF16 && x == DType::kBF16;
  const Isa isa = !pairs ? choice.vector : rows <= kFewRows ? choice.bf16_few : choice.bf16_many;
  return *matmul_path(isa);
}

}  // namespace tp::cpu
