#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/chips.h"
#include "launcher/control.h"
#include "launcher/node_place.h"
#include "launcher/port_lease.h"

namespace tp {

// Everything that decides the environment of a job's ranks.
struct LaunchEnvRequest {
  int nproc = 1;       // ranks on this host
  int world_size = 0;  // 0 = nproc on every host
  NodePlace place;
  std::optional<int> master_port;  // option
  std::string master_addr;         // option; empty = not given
  bool tpu = false;                // --device tpu
  bool check_counts = true;        // off with an explicit plugin and no chip
  HostChips chips;
  std::string pjrt_plugin;  // absolute path; empty = not given
  Environment preset;       // the environment of tprun; what is already set wins
};

// The environment of a launch (torchrun's variables and torch_tpu's), and the ports it names, held against other jobs.
struct LaunchEnv {
  Environment common;              // of every rank on this host
  std::vector<Environment> ranks;  // of each local rank, beside the common ones
  std::vector<std::string> notes;  // variables of another job that contradict this one, those that are set anew too
  std::vector<PortLease> leases;
};

// One host: addresses are localhost:<free port>. One of several: host:base+i with TORCH_TPU_BASE_PORT, MASTER_ADDR the first
// host, MASTER_PORT 29500. What is preset is checked: number and form of addresses, duplicates, the topology's product, ports
// of this host that are taken. Throws Error.
LaunchEnv make_launch_env(const LaunchEnvRequest& request);

// Where a rank is, as torchrun tells it: RANK, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK (its host's number). `places` are all
// ranks of the job, in order of rank.
Environment place_environment(const std::vector<RankHello>& places, size_t rank);

// What a program that talks to libtpu directly needs beside that (torch_tpu exports the same by itself); local_rank indexes
// env.ranks.
Environment libtpu_environment(const LaunchEnv& env, int local_rank);

}  // namespace tp
