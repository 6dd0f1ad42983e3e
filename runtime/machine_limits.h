#pragma once

#include "runtime/collectives.h"
#include "runtime/cpu/context.h"

namespace tp {

// What all ranks' threads together reach at once when they do nothing else.
struct MachineLimits {
  double read_bytes_per_s = 0;
  double flops_per_s = 0;  // float32 multiply-adds without memory, on the widest vectors
};

// Collective; every rank gets the same numbers.
MachineLimits measure_limits(cpu::ThreadPool& pool, Communicator& communicator);

}  // namespace tp
