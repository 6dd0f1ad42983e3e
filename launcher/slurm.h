#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/host_list.h"

namespace tp {

// Hosts and tasks of a SLURM allocation of several nodes, from SLURM_JOB_NODELIST ("n[1-2,07],x") and SLURM_TASKS_PER_NODE
// ("2(x2),1"); empty outside of one and within one of a single node. Throws Error for forms that are not understood.
std::vector<HostSlots> slurm_hosts(const std::map<std::string, std::string>& environment);

// tprun starts the ranks, so it is itself started once: a copy per task (`srun -n 4 tprun …`, `mpirun -n 4 tprun …`) is
// refused. `one_per_host`: it was told that there is one tprun per host. Throws Error.
void require_started_once(const std::map<std::string, std::string>& environment, bool one_per_host);

}  // namespace tp
