#pragma once

#include <memory>

#include "runtime/collectives.h"
#include "runtime/engine.h"
#include "runtime/rank_model.h"

namespace tp {

// An engine that executes on this host's CPU. `model` and `communicator` must outlive it; `slots` rows of `cache_len`
// positions are allocated at once. `threads` = intra-op threads of this process.
std::unique_ptr<Engine> make_eager_engine(const RankModel& model, Communicator& communicator, int64_t slots, int64_t cache_len);

// Intra-op threads of every engine of this process; to be called before the first one is made.
void set_eager_threads(int threads);

}  // namespace tp
