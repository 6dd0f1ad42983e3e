#pragma once

#include <atomic>

#include "runtime/collectives.h"
#include "runtime/job.h"

namespace tp {

// Runs one job on this rank: loads its part of the model and does job.command. Collective. Returns the exit code: 0, or
// 128 + signal when a stop signal ended it (`stop_signal` is set by this rank's signal handler). Throws Error.
int run_job(const Job& job, Communicator& communicator, const std::atomic<int>& stop_signal);

}  // namespace tp
