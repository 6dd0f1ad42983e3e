#pragma once

#include <cstdint>

#include "runtime/cpu/isa.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/cpu/weight_format.h"

namespace tp::cpu {

struct MatmulPath;  // matmul_path.h

// Which instruction sets the kernels use. Trivially copyable, so that one rank's choice can be broadcast: ranks that compute
// the same replicated value must use the same kernels, or their bits differ. All must be available.
struct KernelChoice {
  Isa vector = Isa::kPlain;     // everything in float32; kPlain, kAvx2 and kAvx512 only
  Isa bf16_few = Isa::kPlain;   // bfloat16 weights times bfloat16 rows, at most kFewRows of them (decode)
  Isa bf16_many = Isa::kPlain;  // the same for more rows (prefill)
  Isa integers = Isa::kPlain;   // integer weights times rows that are quantized too

  // One instruction set for everything that it has kernels for.
  static KernelChoice only(Isa isa);
};
inline constexpr int64_t kFewRows = 16;

// What a kernel runs with: this rank's threads and the choice.
struct Context {
  ThreadPool& pool;
  KernelChoice kernels;
  bool int8_activations = false;  // products with integer weights quantize their rows (integer_rows.h)
};

// The path for a product of `rows` rows of dtype `x`.
const MatmulPath& path_for(const KernelChoice& choice, WeightFormat format, DType x, int64_t rows);
// The same for rows that are quantized.
const MatmulPath& integer_path_for(const KernelChoice& choice);

}  // namespace tp::cpu
