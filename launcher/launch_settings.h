#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/affinity.h"
#include "launcher/options.h"

namespace tp {

// The launch options, checked against each other and against this host.
struct LaunchSettings {
  int nproc = 1;  // ranks on this host
  std::string device = "cpu";
  int threads = 1;  // of each rank
  bool threads_given = false;
  int cores = 1;  // that this process may use
  double timeout_s = 300;
  double grace_s = 10;
  int max_restarts = 0;
};

// Throws Error for counts and combinations that cannot be. `omp_num_threads` is the variable's value.
LaunchSettings launch_settings(const Options& options, const std::optional<std::string>& omp_num_threads);

}  // namespace tp
