#pragma once

#include "runtime/collectives.h"
#include "runtime/job.h"

namespace tp {

// Runs one job on this rank: loads its part of the model and does job.command. Collective. Returns the exit code: 0, or
// 128 + signal when SIGTERM or SIGINT ended it; until the model is loaded they end the process at once. Throws Error.
int run_job(const Job& job, Communicator& communicator);

}  // namespace tp
