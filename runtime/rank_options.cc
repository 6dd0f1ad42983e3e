#include "runtime/rank_options.h"

#include <cstdlib>

#include "sharding/error.h"

namespace tp {

RankOptions parse_rank_options(const std::vector<std::string>& arguments) {
  RankOptions options;
  if (const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS")) options.step_tasks = std::atoi(tasks);
  if (arguments.empty()) return options;
  if (arguments.size() != 5) throw Error("tprun-rank", "is started by tprun, without arguments of yours", "tprun … generate …");
  options.store = StorePlace{arguments[0], std::atoi(arguments[1].c_str()), std::atoi(arguments[2].c_str()),
                             std::atoi(arguments[3].c_str())};
  options.timeout_s = std::atof(arguments[4].c_str());
  return options;
}

void require_one_job(const RankOptions& options, int world_size) {
  if (world_size > 1 || options.step_tasks <= 1) return;
  throw Error("srun", "started " + std::to_string(options.step_tasks) + " copies of tprun-rank that MPI does not join",
              "srun --mpi=pmix, or tprun in its place");
}

}  // namespace tp
