#pragma once

#include <atomic>

#include "runtime/collectives.h"
#include "runtime/engine.h"
#include "runtime/generate.h"
#include "runtime/job.h"
#include "runtime/rank_model.h"

namespace tp {

// `tprun serve`: answers HTTP requests on rank 0 (http_server.h) until a stop signal comes; then what was accepted is finished.
// Collective.
GenerateResult run_serve(const Job& job, const RankModel& model, Engine& engine, Communicator& communicator,
                         const std::atomic<int>& stop_signal);

}  // namespace tp
