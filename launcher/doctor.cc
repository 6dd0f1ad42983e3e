#include "launcher/doctor.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <set>

#include "launcher/affinity.h"
#include "launcher/chip_holders.h"
#include "launcher/chips.h"
#include "launcher/device_choice.h"
#include "launcher/launch_settings.h"
#include "launcher/libtpu.h"
#include "launcher/mpi_command.h"
#include "launcher/options_environment.h"
#include "launcher/program_path.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr int64_t kShmPerRank = int64_t{16} << 20;  // what Open MPI and the control files need, with room
constexpr double kMiB = 1 << 20;

std::string mib(double bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.0f MiB", bytes / kMiB);
  return text;
}

// A check that throws Error is a finding with the error's mend.
Finding guarded(const std::string& name, const std::function<Finding()>& look) {
  try {
    return look();
  } catch (const Error& error) {
    return {name, (error.where().empty() ? "" : error.where() + ": ") + error.message(),
            error.fix().empty() ? "see above" : error.fix()};
  }
}

Finding look_at_mpi() {
  const MpiVersion version = require_mpi_version(ask_mpirun({}));
  return {
      "mpi",
      "Open MPI " + std::to_string(version.major) + "." + std::to_string(version.minor) + "." + std::to_string(version.patch),
      ""};
}

Finding look_at_root(const Options& options) {
  const bool root = require_root_opt_in(geteuid(), options.flag("allow-run-as-root"), environment("OMPI_ALLOW_RUN_AS_ROOT"),
                                        environment("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"));
  return {"root", root ? "root, with the opt-in" : "not root", ""};
}

Finding look_at_cores(const LaunchSettings& settings, const std::string& root) {
  const std::vector<Cpu> cpus = usable_cpus(root);
  std::string text = std::to_string(settings.cores) + (settings.cores == 1 ? " core, " : " cores, ") +
                     std::to_string(cpus.size()) + " CPUs; " + std::to_string(settings.nproc) +
                     (settings.nproc == 1 ? " rank of " : " ranks of ") + std::to_string(settings.threads) +
                     (settings.threads == 1 ? " thread:" : " threads:");
  for (int rank = 0; rank < settings.nproc && rank < 8; ++rank) {
    text += " rank " + std::to_string(rank) + " on";
    for (int cpu : cpus_of_rank(cpus, rank, settings.nproc, settings.threads)) text += " " + std::to_string(cpu);
    text += rank + 1 < settings.nproc ? "," : "";
  }
  const int threads = settings.nproc * settings.threads;
  if (threads > static_cast<int>(cpus.size())) return {"cores", text, "more threads than CPUs: fewer ranks, or --threads"};
  // A quota gives less time than there are CPUs: ranks that use more of them are stopped, and the others wait for them.
  const bool paid = threads <= settings.cores || settings.cores >= count_cores(cpus);
  return {"cores", text, paid ? "" : "more threads than the cgroup's CPU quota pays for: fewer ranks, or --threads"};
}

Finding look_at_slots(const LaunchSettings& settings) {
  std::string text = std::to_string(settings.world_size()) + (settings.world_size() == 1 ? " rank" : " ranks");
  for (const HostSlots& host : settings.hosts) text += ", " + host.name + ":" + std::to_string(host.slots);
  if (settings.place.nnodes > 1)
    text += ", " + std::to_string(settings.nproc) + " of them on this host, number " +
            std::to_string(settings.place.node_rank) + " of " + std::to_string(settings.place.nnodes);
  return {"slots", text, ""};
}

Finding look_at_shm(int nproc) {
  struct statvfs info {};
  if (statvfs("/dev/shm", &info) != 0) return {"shm", "/dev/shm is missing", "mount a tmpfs there (docker run --shm-size=1g)"};
  const double available = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  const auto needed = static_cast<double>(kShmPerRank * nproc);
  return {"shm", mib(available) + " free in /dev/shm",
          available < needed ? "at least " + mib(needed) + " (docker run --shm-size=1g)" : ""};
}

Finding look_at_memlock(bool tpu) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
  return {"memlock", unlimited ? "unlimited" : mib(static_cast<double>(limit.rlim_cur)),
          tpu && !unlimited ? "vfio pins memory: ulimit -l unlimited" : ""};
}

Finding look_at_interfaces(const std::string& chosen) {
  std::set<std::string> names;
  bool loopback = false;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      if ((entry->ifa_flags & IFF_UP) == 0) continue;
      names.insert(entry->ifa_name);
      loopback = loopback || (entry->ifa_flags & IFF_LOOPBACK) != 0;
    }
    freeifaddrs(list);
  }
  std::string text = "up:";
  for (const std::string& name : names) text += " " + name;
  if (!loopback) return {"interfaces", text, "ranks of one host meet on loopback: ip link set lo up"};
  const bool unknown = !chosen.empty() && chosen.find('/') == std::string::npos && !names.contains(chosen);
  return {"interfaces", text, unknown ? "--interface " + chosen + " is not one of them" : ""};
}

Finding look_at_chips(const LaunchSettings& settings, const std::string& root) {
  const HostChips host = find_chips(root);
  std::string text = std::to_string(host.usable.size()) + " usable, device " + settings.device.device;
  std::string mend;
  for (const Chip& chip : host.usable) {
    if (chip.holder) mend += (mend.empty() ? "" : "; ") + chip.path + " is held by " + holder_text(*chip.holder);
  }
  for (const Chip& chip : host.unusable) mend += (mend.empty() ? "" : "; ") + chip.pci + ": " + chip.problem;
  return {"chips", text, mend};
}

// The plugin that the ranks would load, tried in a process of its own. Without chips only `plan aot` needs one.
Finding look_at_plugin(const LaunchSettings& settings) {
  if (settings.device.device != "tpu") return {"plugin", describe_libtpu(), ""};
  if (!settings.pjrt_plugin.empty()) return {"plugin", settings.pjrt_plugin + " can be loaded", ""};
  const std::string libtpu = find_libtpu();
  require_pjrt_plugin(libtpu, "libtpu");
  return {"plugin", "libtpu " + libtpu + " can be loaded", ""};
}

Finding look_at_lock(bool tpu) {
  const LibtpuLock lock = libtpu_lock();
  if (!lock.exists) return {"lock", "no /tmp/libtpu_lockfile", ""};
  if (!lock.held) return {"lock", "/tmp/libtpu_lockfile is left over and held by nobody: harmless", ""};
  const std::string who = lock.holder ? holder_text(*lock.holder) : "a process";
  return {"lock", "/tmp/libtpu_lockfile is held by " + who,
          tpu ? "wait for that process, or end it; do not remove the file" : ""};
}

}  // namespace

std::vector<Finding> examine_host(const Options& options) {
  std::vector<Finding> findings;
  findings.push_back(guarded("mpi", look_at_mpi));
  findings.push_back(guarded("root", [&] { return look_at_root(options); }));
  findings.push_back(guarded("programs", [] {
    return Finding{"programs", own_program("tprun-exec").string() + ", " + own_program("tprun-rank").string(), ""};
  }));
  LaunchSettings settings;
  findings.push_back(guarded("launch", [&] {
    settings = launch_settings(options, whole_environment());
    return Finding{"launch", settings.device.note.empty() ? "device " + settings.device.device : settings.device.note, ""};
  }));
  findings.push_back(look_at_slots(settings));
  findings.push_back(guarded("cores", [&] { return look_at_cores(settings, options.text("host-root")); }));
  findings.push_back(look_at_shm(settings.nproc));
  findings.push_back(look_at_memlock(settings.device.device == "tpu"));
  findings.push_back(look_at_interfaces(options.text("interface")));
  findings.push_back(look_at_chips(settings, options.text("host-root")));
  findings.push_back(guarded("plugin", [&] { return look_at_plugin(settings); }));
  findings.push_back(look_at_lock(settings.device.device == "tpu"));
  return findings;
}

int print_findings(const std::vector<Finding>& findings) {
  bool all_well = true;
  for (const Finding& finding : findings) {
    const std::string state = finding.mend.empty() ? "ok" : "fix: " + finding.mend;
    std::printf("%-11s %s; %s\n", finding.name.c_str(), finding.found.c_str(), state.c_str());
    all_well = all_well && finding.mend.empty();
  }
  return all_well ? 0 : 1;
}

}  // namespace tp
