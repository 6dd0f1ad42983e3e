#pragma once

#include <string>
#include <vector>

#include "launcher/options.h"

namespace tp {

// One thing that a job on this host depends on.
struct Finding {
  std::string name;   // "shm"
  std::string found;  // what it is
  std::string mend;   // empty = ok
};

// Looks at MPI, root, cores and binding, /dev/shm, memlock, interfaces, chips and libtpu's lock, the plugin and tprun's own
// programs. Starts nothing but `mpirun --version`.
std::vector<Finding> examine_host(const Options& options);

// `tprun doctor`: one line each, "ok" or the mend. Returns 0 when all is well, else 1.
int print_findings(const std::vector<Finding>& findings);

}  // namespace tp
