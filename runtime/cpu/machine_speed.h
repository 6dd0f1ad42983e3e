#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/cpu/context.h"

namespace tp::cpu {

// How ranks measure at the same time: `start` brings them together before each timed piece, `seconds_since` gives the time from
// its begin, a clock's value on this rank, until all are done. One rank alone needs neither.
struct TimedTogether {
  using Clock = std::chrono::steady_clock;
  std::function<void()> start = [] {};
  std::function<double(Clock::time_point begin)> seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
};

// Bytes per second that the threads of `pool` together read from memory: the best 16 MiB of `passes` over a buffer of
// `size_bytes`, which must be much larger than the caches. A decode step cannot be faster than its weights / this.
double read_bandwidth(int64_t size_bytes, int passes, ThreadPool& pool, const TimedTogether& together = {});

// Bytes per second that the threads of `pool` together copy from `from` into memory that was not touched before: what loading
// weights is compared with.
double copy_bandwidth(const std::byte* from, int64_t size_bytes, ThreadPool& pool, const TimedTogether& together = {});

// Floating-point operations per second of float32 multiply-adds that need no memory at all: the limit of everything that the
// vector instruction set `context.kernels.vector` computes.
double multiply_add_peak(const Context& context, const TimedTogether& together = {});

}  // namespace tp::cpu
