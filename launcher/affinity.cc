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

// CPUs that a cgroup's quota pays for; 0 = no limit.
double quota_cpus(const std::string& root) {
  std::ifstream v2(root + "/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) return std::atof(quota.c_str()) / period;
  const int v1 = read_int(root + "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", -1);
  const int v1_period = read_int(root + "/sys/fs/cgroup/cpu/cpu.cfs_period_us", 0);
  return v1 > 0 && v1_period > 0 ? static_cast<double>(v1) / v1_period : 0;
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

int usable_cores(const std::vector<Cpu>& cpus, const std::string& root) {
  std::set<std::pair<int, int>> cores;
  for (const Cpu& cpu : cpus) cores.emplace(cpu.package, cpu.core);
  const double quota = quota_cpus(root);
  int count = static_cast<int>(cores.size());
  if (quota > 0) count = std::min(count, static_cast<int>(std::ceil(quota)));
  return std::max(1, count);
}

std::vector<int> cpus_of_rank(const std::vector<Cpu>& cpus, int local_rank, int local_size, int threads) {
  std::vector<std::vector<int>> cores;
  const Cpu* last = nullptr;
  for (const Cpu& cpu : cpus) {
    const bool same = last != nullptr && last->package == cpu.package && last->core == cpu.core;
    if (!same) cores.emplace_back();
    cores.back().push_back(cpu.id);
    last = &cpu;
  }
  const size_t share = cores.size() / static_cast<size_t>(local_size);
  std::vector<int> mine;
  for (size_t i = share * static_cast<size_t>(local_rank); i < share * static_cast<size_t>(local_rank + 1); ++i) {
    mine.insert(mine.end(), cores[i].begin(), cores[i].end());
  }
  // Every rank must come to the same answer, so the smallest share decides, not this one's.
  size_t smallest = share == 0 ? 0 : cpus.size();
  for (int r = 0; share > 0 && r < local_size; ++r) {
    size_t count = 0;
    for (size_t i = share * static_cast<size_t>(r); i < share * static_cast<size_t>(r + 1); ++i) count += cores[i].size();
    smallest = std::min(smallest, count);
  }
  if (smallest < static_cast<size_t>(std::max(1, threads))) {
    mine.clear();
    for (const Cpu& cpu : cpus) mine.push_back(cpu.id);
  }
  std::sort(mine.begin(), mine.end());
  return mine;
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
