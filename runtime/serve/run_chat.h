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

// The model's side of `tprun chat`. Rank 0 writes {"ready":true}, then reads one line of JSON after the other from standard
// input, until its end: the body of an OpenAI chat request, or {"stop":true}, which ends the answer under way. It answers each
// with lines {"text":"…"} and then
//   {"done":{"finish_reason","prompt_tokens","cached_tokens","tokens","seconds"}}   or   {"error":"…"}.
// Rank 0 has the tokenizer. Collective.
GenerateResult run_chat(const Job& job, const RankModel& model, const std::shared_ptr<const Tokenizer>& tokenizer,
                        Engine& engine, Communicator& communicator, const std::atomic<int>& stop_signal);

}  // namespace tp
