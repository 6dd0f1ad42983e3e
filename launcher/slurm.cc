#include "launcher/slurm.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr const char* kNodes = "SLURM_JOB_NODELIST";
constexpr const char* kTasks = "SLURM_TASKS_PER_NODE";
constexpr size_t kMostHosts = 65536;

std::string value_of(const std::map<std::string, std::string>& environment, const char* name) {
  const auto value = environment.find(name);
  return value == environment.end() ? "" : value->second;
}

[[noreturn]] void refuse(const char* name, const std::string& text) {
  throw Error(name, "`" + text + "` is not understood", "name the hosts: --host A:N,B:N");
}

// Parts between commas that are not within brackets.
std::vector<std::string> top_level_parts(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool all_digits(const std::string& text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
}

// "n[1-2,07]x" -> n1x, n2x, n07x; numbers keep the width they are written with.
void add_nodes(const std::string& part, std::vector<HostSlots>& hosts) {
  const size_t open = part.find('['), close = part.find(']');
  if (open == std::string::npos && close == std::string::npos && !part.empty()) {
    hosts.push_back({part, 0});
    return;
  }
  if (open == std::string::npos || close == std::string::npos || close < open) refuse(kNodes, part);
  for (const std::string& range : top_level_parts(part.substr(open + 1, close - open - 1))) {
    const size_t dash = range.find('-');
    const std::string first = range.substr(0, dash), last = dash == std::string::npos ? first : range.substr(dash + 1);
    if (!all_digits(first) || !all_digits(last)) refuse(kNodes, part);
    for (int i = std::atoi(first.c_str()); i <= std::atoi(last.c_str()) && hosts.size() < kMostHosts; ++i) {
      char number[16];
      std::snprintf(number, sizeof(number), "%0*d", static_cast<int>(first.size()), i);
      // A second pair of brackets is expanded in turn.
      add_nodes(part.substr(0, open) + number + part.substr(close + 1), hosts);
    }
  }
}

// "2(x3),1" -> 2, 2, 2, 1
std::vector<int> task_counts(const std::string& text) {
  std::vector<int> counts;
  for (const std::string& part : top_level_parts(text)) {
    const size_t times = part.find("(x");
    const std::string count = part.substr(0, times);
    const std::string repeat = times == std::string::npos ? "1" : part.substr(times + 2, part.size() - times - 3);
    if (!all_digits(count) || !all_digits(repeat)) refuse(kTasks, text);
    counts.insert(counts.end(), std::min<size_t>(std::strtoul(repeat.c_str(), nullptr, 10), kMostHosts),
                  std::atoi(count.c_str()));
  }
  return counts;
}

}  // namespace

std::vector<HostSlots> slurm_hosts(const std::map<std::string, std::string>& environment) {
  const std::string nodes = value_of(environment, kNodes), tasks = value_of(environment, kTasks);
  std::vector<HostSlots> hosts;
  if (nodes.empty()) return hosts;
  for (const std::string& part : top_level_parts(nodes)) add_nodes(part, hosts);
  if (hosts.size() < 2) return {};
  if (tasks.empty()) return hosts;
  const std::vector<int> counts = task_counts(tasks);
  if (counts.size() != hosts.size()) refuse(kTasks, tasks);
  for (size_t i = 0; i < hosts.size(); ++i) hosts[i].slots = counts[i];
  return hosts;
}

void require_started_once(const std::map<std::string, std::string>& environment, bool one_per_host) {
  const char* fix = "start tprun once; it starts the ranks: --nproc-per-node N";
  if (!value_of(environment, "OMPI_COMM_WORLD_SIZE").empty()) {
    throw Error("OMPI_COMM_WORLD_SIZE", "tprun was started by mpirun, and mpirun cannot be started within mpirun", fix);
  }
  const std::string copies = value_of(environment, "SLURM_STEP_NUM_TASKS");
  if (std::atoi(copies.c_str()) > 1 && !one_per_host) {
    throw Error("SLURM_STEP_NUM_TASKS", "srun started " + copies + " copies of tprun; each would be a job of its own", fix);
  }
}

}  // namespace tp
