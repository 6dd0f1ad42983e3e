#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/collectives.h"
#include "runtime/engine.h"
#include "runtime/kernel_source.h"
#include "runtime/pjrt_client.h"
#include "runtime/program_cache.h"
#include "runtime/rank_model.h"

namespace tp {

struct CompiledEngineOptions {
  int64_t slots = 1;
  int64_t cache_len = 0;
  std::string compile_cache;  // --compile-cache: directory; empty = none
  std::string dump_hlo;       // --dump-hlo: directory; empty = none
  bool op_by_op = false;      // --disable-compile: a program per operation (ops_by_op.h)
  std::vector<KernelSource> kernels;
  ProgramCache::Warn warn;
};

// An engine that runs one compiled program per prefill bucket and one for decode on the devices of `client`: prompts row by
// row, single positions for all slots at once. models[d] is the shard of addressable device d (one, but for tests that hold
// all ranks in one process); the models must outlive the engine. Collectives, which run inside the programs, are counted in
// `communicator`. Throws Error when the client has another number of devices than the plan has ranks.
std::unique_ptr<Engine> make_compiled_engine(const std::vector<const RankModel*>& models,
                                             std::shared_ptr<const PjrtClient> client, Communicator& communicator,
                                             const CompiledEngineOptions& options);

}  // namespace tp
