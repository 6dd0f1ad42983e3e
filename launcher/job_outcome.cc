#include "launcher/job_outcome.h"

#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sharding/error.h"

namespace tp {
namespace {

std::string said(const std::string& output) {
  return output.empty() ? "" : "; mpirun said:\n" + output.substr(0, output.find_last_not_of('\n') + 1);
}

std::string missing_ranks(const JobFacts& facts) {
  std::string list;
  for (const RankFacts& rank : facts.ranks) {
    if (rank.host.empty()) list += (list.empty() ? "" : ", ") + std::to_string(rank.rank);
  }
  return list;
}

// The rank that failed of itself before the others were told to stop; with none, one that was told.
const RankFacts* first_failure(const JobFacts& facts, bool told) {
  const RankFacts* first = nullptr;
  for (const RankFacts& rank : facts.ranks) {
    if (!rank.exit || rank.exit->code == 0 || rank.exit->told != told) continue;
    if (first == nullptr || rank.exit->time_ns < first->exit->time_ns) first = &rank;
  }
  return first;
}

std::string failure_text(const RankFacts& rank) {
  const std::string how = rank.exit->signal != 0 ? "was ended by " + signal_name(rank.exit->signal)
                                                 : "exited with code " + std::to_string(rank.exit->code);
  std::string text = "rank " + std::to_string(rank.rank) + " on " + rank.host + " " + how;
  if (!rank.last_lines.empty()) text += "; its last lines:";
  for (const std::string& line : rank.last_lines) text += "\n  " + line;
  return text;
}

}  // namespace

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : "SIG" + std::string(name);
}

JobResult judge_job(const JobFacts& facts) {
  JobResult result;
  result.started = facts.started;
  if (facts.stop_signal != 0) {
    result.code = 128 + facts.stop_signal;
    result.stopped = true;
    result.error = "stopped by " + signal_name(facts.stop_signal);
  } else if (facts.output_error != 0) {
    result.stopped = true;
    result.code = facts.output_error == EPIPE ? 128 + SIGPIPE : 1;
    if (facts.output_error != EPIPE) result.error = "standard output: " + std::string(std::strerror(facts.output_error));
  } else if (facts.mpirun_signal != 0) {
    result.code = 128 + facts.mpirun_signal;
    result.error = "mpirun was ended by " + signal_name(facts.mpirun_signal);
  } else if (facts.timed_out) {
    result.code = 1;
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.10g", facts.timeout_s);
    result.error = "--timeout: after " + std::string(seconds) + " s these ranks had not started: " + missing_ranks(facts) +
                   (facts.control.empty() ? "" : "; they were to report to " + facts.control) + said(facts.mpirun_output);
  } else if (const RankFacts* failed = first_failure(facts, false)) {
    result.code = failed->exit->code;
    result.error = failure_text(*failed);
  } else if (const int number = facts.mpirun_code - 128; !facts.started && number > 0 && sigabbrev_np(number) != nullptr) {
    // mpirun's own words for "one of them was"; its other codes are below 128 or far above.
    result.code = facts.mpirun_code;
    result.error = "a rank was ended by " + signal_name(number) + " before its program was started" + said(facts.mpirun_output);
  } else if (!facts.started) {
    result.code = kExitRefused;
    result.error = "mpirun could not start the ranks" + said(facts.mpirun_output);
  } else if (const RankFacts* told = first_failure(facts, true)) {
    result.code = told->exit->code;
    result.error = failure_text(*told) + said(facts.mpirun_output);
  } else if (facts.mpirun_code != 0) {
    result.code = facts.mpirun_code;
    result.error = "mpirun ended the job with code " + std::to_string(facts.mpirun_code) + said(facts.mpirun_output);
  }
  return result;
}

}  // namespace tp
