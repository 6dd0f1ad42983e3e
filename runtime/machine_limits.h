#pragma once

#include <filesystem>

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

// Bytes per second that all ranks' threads together copy from a mapping of `file`, which is in the page cache, each rank a part
// of it into fresh memory. Collective, as above. Throws Error for a file that cannot be mapped.
double measure_copying(const std::filesystem::path& file, cpu::ThreadPool& pool, Communicator& communicator);

}  // namespace tp
