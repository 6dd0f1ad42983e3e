#pragma once

#include <string>
#include <vector>

#include "launcher/affinity.h"
#include "launcher/chips.h"
#include "launcher/device_choice.h"
#include "launcher/host_list.h"
#include "launcher/launch_env.h"
#include "launcher/node_place.h"
#include "launcher/options.h"

namespace tp {

// The launch options, checked against each other, the environment and this host.
struct LaunchSettings {
  int nproc = 1;                 // ranks on this host; with hosts, on the first one
  NodePlace place;               // among tpruns of the same job
  std::vector<HostSlots> hosts;  // of --host or --hostfile; empty = this host alone
  bool nproc_given = false;
  DeviceChoice device;
  std::string pjrt_plugin;  // absolute; empty = not given
  HostChips chips;
  int threads = 1;  // of each rank
  bool threads_given = false;
  int cores = 1;  // that this process may use
  double timeout_s = 300;
  double grace_s = 10;
  int max_restarts = 0;

  int ranks_started() const;  // by this tprun, wherever they run
  int world_size() const;
};

// Throws Error for counts and combinations that cannot be.
LaunchSettings launch_settings(const Options& options, const Environment& preset);

// The same for `ranks` ranks on this host, whatever the options say of their number. Throws Error for other hosts.
LaunchSettings with_ranks(const Options& options, const Environment& preset, int ranks);

// What make_launch_env() is to be asked.
LaunchEnvRequest launch_env_request(const Options& options, const LaunchSettings& settings, const Environment& preset);

}  // namespace tp
