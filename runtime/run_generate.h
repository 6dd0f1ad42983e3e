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

// `tprun generate`: continues the prompts of the job and writes them out on rank 0, which has the tokenizer, if there is one.
// Collective.
GenerateResult run_generate(const Job& job, const RankModel& model, const std::shared_ptr<const Tokenizer>& tokenizer,
                            Engine& engine, Communicator& communicator, const std::atomic<int>& stop_signal);

// What decides over the end of a continuation and the choice of its tokens, for any command that generates. `tokenizer` may be
// null.
GenerateOptions generate_options(const Job& job, const Tokenizer* tokenizer, const std::atomic<int>& stop_signal);

}  // namespace tp
