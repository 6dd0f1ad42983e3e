#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/collectives_store.h"

namespace tp {

// How a worker meets the others of its job.
struct RankOptions {
  std::optional<StorePlace> store;  // one tprun per host; nullopt = under mpirun or srun, where MPI tells
  double timeout_s = 0;             // of meeting at the store
  int step_tasks = 1;               // how many copies srun started
};

// From the arguments (none, or HOST PORT RANK WORLD_SIZE SECONDS) and SLURM's environment. Throws Error.
RankOptions parse_rank_options(const std::vector<std::string>& arguments);

// srun without PMIx starts copies that know nothing of one another, each a whole job of one rank. Throws Error.
void require_one_job(const RankOptions& options, int world_size);

}  // namespace tp
