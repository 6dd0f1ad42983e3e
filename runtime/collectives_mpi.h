#pragma once

#include <memory>

#include "runtime/collectives.h"

namespace tp {

// Initializes MPI for this process and joins all its ranks; finalizes when destroyed. One per process. Calls come from the
// thread that made it. Throws Error for what MPI refuses.
std::unique_ptr<Communicator> join_mpi(double timeout_s);

}  // namespace tp
