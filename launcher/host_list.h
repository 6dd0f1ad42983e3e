#pragma once

#include <string>
#include <vector>

namespace tp {

// A host of a job and how many ranks it gets.
struct HostSlots {
  std::string name;
  int slots = 0;  // 0 = not said
  bool operator==(const HostSlots&) const = default;
};

// "a:2,b" of --host. Throws Error: a name that is none, a number that is none, a host twice.
std::vector<HostSlots> parse_host_option(const std::string& text);

// A hostfile as mpirun reads it: a host a line, `slots=N` (also `cpus`, `cpu` and `count`), `#` comments. A most number of slots
// is passed over, since ranks are counted here. Throws Error with file:line for every other word, and for a file without hosts.
std::vector<HostSlots> parse_hostfile(const std::string& text, const std::string& path);

// Gives every host its number of ranks: --nproc-per-node (0 = not given) for all, else what the list says, else 1. Throws Error
// when they disagree.
void settle_slots(std::vector<HostSlots>& hosts, int nproc_per_node);

}  // namespace tp
