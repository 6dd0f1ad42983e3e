#pragma once

#include "launcher/options.h"

namespace tp {

// `bench --sweep-tp 1,2`: a job of its own for each number of ranks, one report over all of them. Checks all jobs before the
// first is started. Throws Error; returns the exit code of the first job that fails, else 0.
int sweep_bench(const Options& options);

}  // namespace tp
