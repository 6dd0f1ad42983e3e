#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/control.h"

namespace tp {

// What is known about a job that has ended.
struct RankFacts {
  int rank = 0;
  std::string host;  // empty: it never reported in
  std::optional<RankExit> exit;
  std::vector<std::string> last_lines;  // empty also when they are the last that was shown
};

struct JobFacts {
  bool started = false;    // all ranks reported in and were told what to run
  bool timed_out = false;  // they did not report in within timeout_s
  int output_error = 0;    // errno of standard output, EPIPE when nobody reads it any more; 0 = all was written
  int stop_signal = 0;     // that tprun was sent; 0 = none
  int mpirun_signal = 0;   // that ended mpirun, sent by somebody else; 0 = none
  int mpirun_code = 0;
  std::string mpirun_output;
  double timeout_s = 0;
  std::string control;  // where ranks on other hosts report in; empty on one host
  std::vector<RankFacts> ranks;
};

struct JobResult {
  int code = 0;          // as cli.md
  bool stopped = false;  // told to stop: no restart
  bool started = false;
  std::string error;  // what happened, for the end of standard error; empty when all is well
};

// The exit code and the story: a stop first, then what ended mpirun, then the first rank that failed of itself.
JobResult judge_job(const JobFacts& facts);

// "SIGKILL".
std::string signal_name(int number);

}  // namespace tp
