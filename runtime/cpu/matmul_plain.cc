#include "runtime/cpu/matmul_tile.h"
#include "runtime/cpu/vector_plain.h"

namespace tp::cpu {

const MatmulPath* matmul_path_plain() {
  static constexpr MatmulPath kPath = path_of<Plain>(Isa::kPlain);
  return &kPath;
}

}  // namespace tp::cpu
