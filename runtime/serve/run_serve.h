#pragma once

#include <atomic>
#include <memory>

#include "runtime/collectives.h"
#include "runtime/engine.h"
#include "runtime/generate.h"
#include "runtime/job.h"
#include "runtime/rank_model.h"
#include "runtime/tokenizer.h"

namespace tp {

// `tprun serve`: answers HTTP requests on rank 0 (http_server.h) until a stop signal comes; then what was accepted is finished.
// Rank 0 has the tokenizer, if there is one. Collective.
GenerateResult run_serve(const Job& job, const RankModel& model, const std::shared_ptr<const Tokenizer>& tokenizer,
                         Engine& engine, Communicator& communicator, const std::atomic<int>& stop_signal);

}  // namespace tp
