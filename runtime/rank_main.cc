// tprun-rank: one rank of a job. Started by the launcher through mpirun; rank 0 reads the job, one line of JSON, from stdin.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <thread>

#include "runtime/collectives_mpi.h"
#include "runtime/collectives_shm.h"
#include "runtime/job_run.h"
#include "sharding/error.h"

namespace {

// Of a wait for another rank, until the job says otherwise.
constexpr double kDefaultTimeoutS = 600;
constexpr int kExitFailed = 1;
// The rank that shows its error ends the job meanwhile.
constexpr std::chrono::seconds kFirstFailureEndsJob{2};

std::string read_job_line() {
  std::string line;
  if (!std::getline(std::cin, line) || line.empty()) throw tp::Error("stdin", "no job came; this program is started by tprun");
  return line;
}

int run(tp::Communicator& communicator) {
  const tp::Job job = tp::job_from_json(communicator.broadcast_text(communicator.rank() == 0 ? read_job_line() : "", 0));
  if (job.timeout_s > 0) communicator.set_timeout(job.timeout_s);
  return tp::run_job(job, communicator);
}

// One write, so that lines of several ranks don't mix.
void print_error(int rank, const std::string& text) {
  const std::string line = "tprun: rank " + std::to_string(rank) + ": error: " + text + "\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace

int main() {
  // A reader that closed its end shows as a failed write, which names the output.
  std::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<tp::Communicator> communicator;
  try {
    communicator = tp::within_host(tp::join_mpi(kDefaultTimeoutS), kDefaultTimeoutS);
    return run(*communicator);
  } catch (const std::exception& error) {
    if (!communicator || communicator->first_to_fail()) {
      print_error(communicator ? communicator->rank() : 0, error.what());
    } else {
      std::this_thread::sleep_for(kFirstFailureEndsJob);
    }
  }
  if (communicator) communicator->abort(kExitFailed);
  return kExitFailed;
}
