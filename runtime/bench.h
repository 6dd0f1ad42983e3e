#pragma once

#include <atomic>

#include "runtime/collectives.h"
#include "runtime/engine.h"
#include "runtime/job.h"
#include "runtime/rank_model.h"

namespace tp {

// `tprun bench` (cli.md): generates from random ids for each prompt length and batch of the job and reports speeds against what
// the machine reaches in the same run, on stdout of rank 0. Collectives are recorded in `timeline`. Collective. Returns the
// agreed stop signal that ended it, or 0.
int run_bench(const Job& job, const RankModel& model, Engine& engine, Communicator& communicator, Timeline& timeline,
              const std::atomic<int>& stop_signal);

}  // namespace tp
