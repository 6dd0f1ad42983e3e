#pragma once

#include <functional>

#include "runtime/collectives.h"

namespace tp {

// Runs `rank_main` on `world_size` threads of this process, one per rank, each with its own Communicator. When a rank throws,
// the others' waits end with an Error too, and the first exception is thrown again here. For tests and tools.
void run_ranks(int world_size, const std::function<void(Communicator&)>& rank_main, double timeout_s = 60);

}  // namespace tp
