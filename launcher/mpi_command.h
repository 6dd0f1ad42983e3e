#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/host_list.h"
#include "launcher/mpi_version.h"

namespace tp {

struct MpiRequest {
  int nproc = 1;  // ranks of the job
  int cores = 1;  // usable on this host
  double grace_s = 10;
  std::string interface;              // --interface; empty = loopback, since all ranks are here
  std::filesystem::path runtime_dir;  // for Open MPI's own files
  std::vector<HostSlots> hosts;       // empty = this host alone
  std::vector<std::string> subnets;   // with hosts: networks between them
  std::string launch_agent;           // with hosts: in place of ssh; empty = Open MPI's own
  std::vector<std::string> forward;   // with hosts: variables that other hosts need
  std::vector<std::string> program;   // what mpirun starts once per rank
};

struct MpiCommand {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // for mpirun, beside its parent's
};

// The command line and environment that start `request` with this version of Open MPI.
MpiCommand mpi_command(const MpiVersion& version, const MpiRequest& request);

// mpirun refuses to run as root, and so does tprun unless the user opted in: the option, or Open MPI's two variables. Throws
// Error that names both. `uid` is the effective user id.
bool require_root_opt_in(unsigned uid, bool option, const std::optional<std::string>& allow,
                         const std::optional<std::string>& confirm);

}  // namespace tp
