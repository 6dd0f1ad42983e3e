// tprun-rank: one rank of a job, started by the launcher; rank 0 reads the job, one line of JSON, from stdin.
//
//   tprun-rank                                      under mpirun or srun --mpi=pmix: MPI tells who the others are
//   tprun-rank HOST PORT RANK WORLD_SIZE SECONDS    one tprun per host: the ranks meet at rank 0's HOST and PORT
//   tprun-rank --check-kernels                      no rank: sees whether torch libraries can be used (check_operators.h)
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/check_operators.h"
#include "runtime/collectives_mpi.h"
#include "runtime/collectives_shm.h"
#include "runtime/job_run.h"
#include "runtime/rank_options.h"
#include "sharding/error.h"

namespace {

// Of a wait for another rank, until the job says otherwise.
constexpr double kDefaultTimeoutS = 600;
constexpr int kExitFailed = 1;
// The rank that shows its error ends the job meanwhile.
constexpr std::chrono::seconds kFirstFailureEndsJob{2};

std::unique_ptr<tp::Communicator> join(const tp::RankOptions& options) {
  if (options.store) return tp::join_store(*options.store, options.timeout_s);
  std::unique_ptr<tp::Communicator> ranks = tp::join_mpi(kDefaultTimeoutS);
  tp::require_one_job(options, ranks->world_size());
  return tp::within_host(std::move(ranks), kDefaultTimeoutS);
}

std::string read_job_line() {
  std::string line;
  std::getline(std::cin, line);
  return line;
}

int run(tp::Communicator& communicator) {
  // With one tprun per host, the first rank of each host has a line; the others find the end of their input.
  const std::string own = read_job_line();
  if (communicator.rank() == 0 && own.empty()) throw tp::Error("stdin", "no job came; this program is started by tprun");
  const std::string line = communicator.broadcast_text(own, 0);
  if (!own.empty() && own != line)
    throw tp::Error("job", "this host's tprun was given another job than rank 0's",
                    "the same command line and files on every host");
  const tp::Job job = tp::job_from_json(line);
  if (job.timeout_s > 0) communicator.set_timeout(job.timeout_s);
  return tp::run_job(job, communicator);
}

// One write, so that lines of several ranks don't mix.
void print_error(int rank, const std::string& text) {
  const std::string line = "tprun: rank " + std::to_string(rank) + ": error: " + text + "\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--check-kernels") return tp::check_operators(std::cin);
  // A reader that closed its end shows as a failed write, which names the output.
  std::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<tp::Communicator> communicator;
  int rank = 0;
  try {
    const tp::RankOptions options = tp::parse_rank_options(std::vector<std::string>(argv + 1, argv + argc));
    if (options.store) rank = options.store->rank;
    communicator = join(options);
    rank = communicator->rank();
    return run(*communicator);
  } catch (const std::exception& error) {
    if (!communicator || communicator->first_to_fail()) {
      print_error(rank, error.what());
    } else {
      std::this_thread::sleep_for(kFirstFailureEndsJob);
      std::_Exit(kExitFailed);  // a second MPI_Abort would wait for the first one's end of the job
    }
  }
  if (communicator) communicator->abort(kExitFailed);
  return kExitFailed;
}
