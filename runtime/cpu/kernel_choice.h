#pragma once

#include <vector>

#include "runtime/cpu/context.h"

namespace tp::cpu {

// Chooses among `allowed` (all available here). Where instruction sets compute the same bits the newest is taken; the ones
// that sum pairs of bfloat16 are measured with this pool on a small product and taken only if they are clearly faster: the
// name of an instruction does not tell (vdpbf16ps is slower than float32 FMA on some chips), and a close race must not make
// results change from run to run. Takes a few milliseconds where there is something to measure.
KernelChoice choose_kernels(const std::vector<Isa>& allowed, ThreadPool& pool);

}  // namespace tp::cpu
