#pragma once

#include <cstdint>

#include "runtime/cpu/context.h"

namespace tp::cpu {

// Bytes per second that the threads of `pool` together read from memory: the best 16 MiB of `passes` over a buffer of
// `size_bytes`, which must be much larger than the caches. A decode step cannot be faster than its weights / this.
double read_bandwidth(int64_t size_bytes, int passes, ThreadPool& pool);

// Floating-point operations per second of float32 multiply-adds that need no memory at all: the limit of everything that the
// vector instruction set `context.kernels.vector` computes.
double multiply_add_peak(const Context& context);

}  // namespace tp::cpu
