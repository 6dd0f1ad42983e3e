#pragma once

#include <string>
#include <vector>

namespace tp {

// One logical CPU that this process may use, and where it sits.
struct Cpu {
  int id = 0;
  int numa = 0;
  int package = 0;
  int core = 0;  // within the package; hyperthreads share one
  bool operator==(const Cpu&) const = default;
};

// The CPUs of the affinity mask (so of the cpuset) in an order that keeps hyperthreads of a core, then cores of a NUMA node,
// together. `root` prefixes /sys, for tests.
std::vector<Cpu> usable_cpus(const std::string& root = "");

// Cores that they belong to; a core with two hyperthreads counts once.
int count_cores(const std::vector<Cpu>& cpus);

// The same, at most what the CPU quotas of its cgroups pay for; at
// least 1. `root` prefixes /sys and /proc, for tests.
int usable_cores(const std::vector<Cpu>& cpus, const std::string& root = "");

// CPUs of rank `local_rank` of `local_size`: disjoint shares of whole cores, within one NUMA node where there are several, when
// every rank can have `threads` CPUs of its own that way; otherwise equal shares across the nodes; otherwise all CPUs for
// everybody, since a mask smaller than the threads makes them take turns.
std::vector<int> cpus_of_rank(const std::vector<Cpu>& cpus, int local_rank, int local_size, int threads);

// Binds the calling process. Throws Error when the kernel refuses.
void bind_to_cpus(const std::vector<int>& cpus);

}  // namespace tp
