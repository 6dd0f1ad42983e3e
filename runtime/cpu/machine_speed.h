#pragma once

#include <cstdint>
#include <functional>

#include "runtime/cpu/context.h"

namespace tp::cpu {

// How ranks measure at the same time: `start` brings them together before each timed piece, `slowest` gives the longest of
// their times. One rank alone needs neither.
struct TimedTogether {
  std::function<void()> start = [] {};
  std::function<double(double seconds)> slowest = [](double seconds) { return seconds; };
};

// Bytes per second that the threads of `pool` together read from memory: the best 16 MiB of `passes` over a buffer of
// `size_bytes`, which must be much larger than the caches. A decode step cannot be faster than its weights / this.
double read_bandwidth(int64_t size_bytes, int passes, ThreadPool& pool, const TimedTogether& together = {});

// Floating-point operations per second of float32 multiply-adds that need no memory at all: the limit of everything that the
// vector instruction set `context.kernels.vector` computes.
double multiply_add_peak(const Context& context, const TimedTogether& together = {});

}  // namespace tp::cpu
