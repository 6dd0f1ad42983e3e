#pragma once

#include <memory>
#include <vector>

#include "runtime/collectives.h"
#include "runtime/engine.h"
#include "runtime/kernel_source.h"
#include "runtime/rank_model.h"
#include "runtime/timeline.h"

namespace tp {

struct EagerEngineOptions {
  int64_t slots = 1;             // rows in flight
  int64_t cache_len = 0;         // positions of each; the cache is allocated at once
  int threads = 1;               // of this rank
  Timeline* timeline = nullptr;  // steps and ops are recorded there; nullptr = nowhere
  std::vector<KernelSource> kernels = {};
  bool int8_activations = false;  // quantize what quantized weights multiply
  bool int8_cache = false;        // keep keys and values quantized
};

// An engine that executes on this host's CPU. `model`, loaded with LinearLayout::kPacked, and `communicator` must outlive it.
// Collective: all ranks take the same kernels. Quantized activations cost a collective more ("all_gather", the largest number
// of each row) where a product takes parts of rows.
std::unique_ptr<Engine> make_eager_engine(const RankModel& model, Communicator& communicator,
                                          const EagerEngineOptions& options);

}  // namespace tp
