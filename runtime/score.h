#pragma once

#include <atomic>

#include "runtime/collectives.h"
#include "runtime/engine.h"
#include "runtime/job.h"
#include "runtime/rank_model.h"

namespace tp {

// `tprun score` (cli.md): for each prompt one line of JSON on stdout with the summed negative log-likelihood of the tokens
// after the first, in nats; texts longer than job.score_window in windows; with job.output all float32 logits as a safetensors
// file. Collective; rank 0 writes. Returns the agreed stop signal that ended it, or 0.
int run_score(const Job& job, const RankModel& model, Engine& engine, Communicator& communicator,
              const std::atomic<int>& stop_signal);

}  // namespace tp
