#include "launcher/affinity.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <tuple>

#include "sharding/error.h"

namespace tp {
namespace {

int read_int(const std::filesystem::path& path, int otherwise) {
  std::ifstream file(path);
  int value = otherwise;
  return file >> value ? value : otherwise;
}

int numa_of(const std::filesystem::path& cpu_dir) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(cpu_dir, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("node") && name.size() > 4 && std::isdigit(static_cast<unsigned char>(name[4])))
      return std::stoi(name.substr(4));
  }
  return 0;
}

// Masks of machines with more than 1024 CPUs need a set of their own size.
std::vector<int> affinity_mask() {
  for (int limit = 1024; limit <= (1 << 18); limit *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(limit));
    const size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(limit));
    std::vector<int> ids;
    const bool read = sched_getaffinity(0, size, set) == 0;
    for (int i = 0; read && i < limit; ++i) {
      if (CPU_ISSET_S(static_cast<size_t>(i), size, set)) ids.push_back(i);
    }
    CPU_FREE(set);
    if (read) return ids;
  }
  return {0};
}

// CPUs that the quota of one cgroup pays for; 0 = no limit.
double quota_of(const std::filesystem::path& group) {
  std::ifstream v2(group / "cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) return std::atof(quota.c_str()) / period;
  const int v1 = read_int(group / "cpu.cfs_quota_us", -1);
  const int v1_period = read_int(group / "cpu.cfs_period_us", 0);
  return v1 > 0 && v1_period > 0 ? static_cast<double>(v1) / v1_period : 0;
}

// The tightest quota of this process's cgroup and those that it lies in. In a container they are mounted as the root.
double quota_cpus(const std::string& root) {
  double tightest = 0;
  const auto consider = [&](const std::filesystem::path& mount, std::filesystem::path group) {
    for (;; group = group.parent_path()) {
      const double quota = quota_of(mount / group.relative_path());
      if (quota > 0 && (tightest == 0 || quota < tightest)) tightest = quota;
      if (!group.has_relative_path()) return;
    }
  };
  consider(root + "/sys/fs/cgroup", "/");
  consider(root + "/sys/fs/cgroup/cpu", "/");
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "0::/a/b" (v2) or "4:cpu,cpuacct:/a/b" (v1)
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool v2 = controllers == ",,";
    if (v2 || controllers.find(",cpu,") != std::string::npos)
      consider(root + (v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu"), line.substr(second + 1));
  }
  return tightest;
}

using Cores = std::vector<std::vector<int>>;  // CPUs of each core

struct Share {
  std::vector<int> cpus;
  size_t smallest = 0;  // CPUs of the rank that gets the fewest
};

// The part of one of `size` ranks: equally many whole cores for each.
Share share_of(const Cores& cores, int index, int size) {
  const size_t part = cores.size() / static_cast<size_t>(size);
  Share share;
  for (int i = 0; i < size; ++i) {
    size_t count = 0;
    for (size_t c = part * static_cast<size_t>(i); c < part * static_cast<size_t>(i + 1); ++c) {
      count += cores[c].size();
      if (i == index) share.cpus.insert(share.cpus.end(), cores[c].begin(), cores[c].end());
    }
    share.smallest = i == 0 ? count : std::min(share.smallest, count);
  }
  return share;
}

// True when equal shares would put some rank on two NUMA nodes.
bool straddles(const std::vector<size_t>& node_of_core, int size) {
  const size_t part = node_of_core.size() / static_cast<size_t>(size);
  for (size_t first = 0; part > 0 && first + part <= part * static_cast<size_t>(size); first += part) {
    if (node_of_core[first] != node_of_core[first + part - 1]) return true;
  }
  return false;
}

// Ranks spread over the NUMA nodes, each within one of them.
Share numa_share(const std::vector<Cores>& nodes, int local_rank, int local_size) {
  const auto node_of = [&](int rank) { return static_cast<size_t>(rank) * nodes.size() / static_cast<size_t>(local_size); };
  Share mine;
  for (size_t node = 0; node < nodes.size(); ++node) {
    std::vector<int> ranks;
    for (int rank = 0; rank < local_size; ++rank) {
      if (node_of(rank) == node) ranks.push_back(rank);
    }
    const auto own = std::find(ranks.begin(), ranks.end(), local_rank);
    const Share share = share_of(nodes[node], static_cast<int>(own - ranks.begin()), static_cast<int>(ranks.size()));
    if (own != ranks.end()) mine.cpus = share.cpus;
    mine.smallest = node == 0 ? share.smallest : std::min(mine.smallest, share.smallest);
  }
  return mine;
}

}  // namespace

std::vector<Cpu> usable_cpus(const std::string& root) {
  std::vector<Cpu> cpus;
  for (int id : affinity_mask()) {
    const std::filesystem::path dir = root + "/sys/devices/system/cpu/cpu" + std::to_string(id);
    cpus.push_back(
        {id, numa_of(dir), read_int(dir / "topology/physical_package_id", 0), read_int(dir / "topology/core_id", id)});
  }
  std::sort(cpus.begin(), cpus.end(), [](const Cpu& a, const Cpu& b) {
    return std::tie(a.numa, a.package, a.core, a.id) < std::tie(b.numa, b.package, b.core, b.id);
  });
  return cpus;
}

int count_cores(const std::vector<Cpu>& cpus) {
  std::set<std::pair<int, int>> cores;
  for (const Cpu& cpu : cpus) cores.emplace(cpu.package, cpu.core);
  return static_cast<int>(cores.size());
}

int usable_cores(const std::vector<Cpu>& cpus, const std::string& root) {
  const double quota = quota_cpus(root);
  int count = count_cores(cpus);
  if (quota > 0) count = std::min(count, static_cast<int>(std::ceil(quota)));
  return std::max(1, count);
}

std::vector<int> cpus_of_rank(const std::vector<Cpu>& cpus, int local_rank, int local_size, int threads) {
  Cores cores;
  std::vector<Cores> nodes;
  std::vector<size_t> node_of_core;
  const Cpu* last = nullptr;
  for (const Cpu& cpu : cpus) {
    if (last == nullptr || last->numa != cpu.numa) nodes.emplace_back();
    if (last == nullptr || last->package != cpu.package || last->core != cpu.core) {
      cores.emplace_back();
      nodes.back().emplace_back();
      node_of_core.push_back(nodes.size());
    }
    cores.back().push_back(cpu.id);
    nodes.back().back().push_back(cpu.id);
    last = &cpu;
  }
  // Every rank must come to the same answer, so the smallest share decides, not this one's.
  const auto enough = static_cast<size_t>(std::max(1, threads));
  Share mine = share_of(cores, local_rank, local_size);
  if (straddles(node_of_core, local_size) && static_cast<size_t>(local_size) >= nodes.size()) {
    const Share within = numa_share(nodes, local_rank, local_size);
    if (within.smallest >= enough) mine = within;
  }
  if (mine.smallest < enough) {
    mine.cpus.clear();
    for (const Cpu& cpu : cpus) mine.cpus.push_back(cpu.id);
  }
  std::sort(mine.cpus.begin(), mine.cpus.end());
  return mine.cpus;
}

void bind_to_cpus(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const auto limit = static_cast<size_t>(*std::max_element(cpus.begin(), cpus.end()) + 1);
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(limit), [](cpu_set_t* s) { CPU_FREE(s); });
  const size_t size = CPU_ALLOC_SIZE(limit);
  CPU_ZERO_S(size, set.get());
  for (int cpu : cpus) CPU_SET_S(static_cast<size_t>(cpu), size, set.get());
  if (sched_setaffinity(0, size, set.get()) != 0) throw Error("affinity", std::strerror(errno));
}

}  // namespace tp
