#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/console.h"
#include "launcher/control.h"
#include "launcher/job_outcome.h"
#include "launcher/mpi_command.h"

namespace tp {

// One attempt to run a job: what mpirun is told, and what each rank is told once it has reported in.
struct SuperviseRequest {
  MpiCommand mpi;
  std::string job_id;
  int first_rank = 0;      // of those that are started here; in what follows they are counted from 0
  int world_size = 1;      // ranks that are started here
  double timeout_s = 300;  // until every rank has reported in
  double grace_s = 10;     // between SIGTERM and SIGKILL
  std::string control;     // address to listen on (control.h); empty = a Unix socket of its own
  std::function<RankStart(const std::vector<RankHello>& places, size_t rank)> start_of;
  std::optional<std::string> input;  // what rank 0 reads; nullopt = tprun's own standard input
};

// Blocks the signals that supervision handles, for this thread and those made later. Call before threads are started.
void block_supervised_signals();

// Starts mpirun and stays with the job to its end. Every process of the job that mpirun or the ranks still know is gone when
// it returns; descendants that slipped away are for JobGuard.
JobResult supervise(const SuperviseRequest& request, Console& console);

}  // namespace tp
