#pragma once

#include <memory>

#include "runtime/collectives.h"

namespace tp {

// The same ranks with their collectives through shared memory, if all of them run on this host and can share it; otherwise
// `outer` itself. Collective. `outer` still ends the job. Decode's sums are 2-8 kB, where latency is everything.
std::unique_ptr<Communicator> within_host(std::unique_ptr<Communicator> outer, double timeout_s);

}  // namespace tp
