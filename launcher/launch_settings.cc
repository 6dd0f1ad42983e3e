#include "launcher/launch_settings.h"

#include <algorithm>
#include <filesystem>

#include "launcher/libtpu.h"
#include "launcher/slice_coordinates.h"
#include "launcher/slurm.h"
#include "launcher/topology.h"
#include "sharding/error.h"
#include "sharding/json_document.h"

namespace tp {
namespace {

constexpr int kMostRanks = 4096, kMostThreads = 4096;
constexpr double kMostSeconds = 1e6;  // 11 days; clocks and milliseconds in an int have room for it
constexpr int kDevicesPerHost = 8;    // torch_tpu's guess when nothing tells
constexpr const char* kDevicesVariable = "TORCH_TPU_DEVICES_PER_HOST";
constexpr double kCoordinatesS = 300;  // for chips to tell their place: torch_tpu's bound
constexpr int64_t kLargestHostfile = int64_t{16} << 20;

std::optional<int> number(const Options& options, const char* name) {
  if (!options.given(name)) return std::nullopt;
  const int64_t value = *options.count(name);
  if (value > 1000000) throw Error("--" + std::string(name), std::to_string(value) + " is too large", "");
  return static_cast<int>(value);
}

// Without --nproc-per-node. A host of a slice may be told by torch_tpu's own variable.
int default_rank_count(const LaunchSettings& settings, const Environment& preset) {
  const int devices = settings.chips.device_count();
  if (settings.device.device != "tpu") return 1;
  if (!settings.place.several) return devices > 0 ? devices : 1;
  if (const auto told = preset_number(preset, kDevicesVariable)) return *told;
  return devices > 0 ? devices : kDevicesPerHost;
}

int rank_count(const Options& options, const LaunchSettings& settings, const Environment& preset) {
  const bool tpu = settings.device.device == "tpu";
  const int devices = settings.chips.device_count();
  const std::string text = options.text("nproc-per-node");
  if (!settings.nproc_given) return default_rank_count(settings, preset);
  if (text == "auto") {
    if (tpu && devices == 0) throw Error("--nproc-per-node", "auto: no chip was found to count", "give a number");
    return tpu ? devices : settings.cores;
  }
  const int count = whole_number(text).value_or(0);
  if (count < 1 || count > kMostRanks) {
    throw Error("--nproc-per-node", "`" + text + "` is not a number of ranks",
                "a whole number from 1 to " + std::to_string(kMostRanks) + ", or auto");
  }
  return count;
}

// OMP_NUM_THREADS may be a list, one number per nesting level.
int threads_of(const Options& options, const Environment& preset, int cores, int nproc) {
  if (const auto given = options.count("threads")) {
    if (*given < 1 || *given > kMostThreads) {
      throw Error("--threads", "`" + std::to_string(*given) + "` is not a number of threads",
                  "a whole number from 1 to " + std::to_string(kMostThreads));
    }
    return static_cast<int>(*given);
  }
  const auto omp = preset_text(preset, "OMP_NUM_THREADS");
  if (!omp) return std::max(1, cores / nproc);
  std::string first = comma_list(*omp)[0];
  std::erase(first, ' ');
  const int count = whole_number(first).value_or(0);
  if (count < 1 || count > kMostThreads) {
    throw Error("OMP_NUM_THREADS", "`" + *omp + "` is not a number of threads",
                "unset it, or set it to a whole number from 1 to " + std::to_string(kMostThreads));
  }
  return count;
}

double seconds(const Options& options, const char* name, bool zero_allowed) {
  const double value = *options.number(name);
  if (value < 0 || (value == 0 && !zero_allowed) || value > kMostSeconds) {
    throw Error("--" + std::string(name), "`" + options.text(name) + "` is not a time",
                "seconds, " + std::string(zero_allowed ? "0 or more" : "more than 0") + ", at most 1000000");
  }
  return value;
}

void settle_device(const Options& options, const Environment& preset, LaunchSettings& settings) {
  const std::string root = options.text("host-root");
  if (options.given("pjrt-plugin")) {
    settings.pjrt_plugin = std::filesystem::absolute(options.text("pjrt-plugin"));
    if (options.text("device") == "cpu")
      throw Error("--pjrt-plugin", "is for chips, and --device is cpu", "leave one of them out");
    require_pjrt_plugin(settings.pjrt_plugin, "--pjrt-plugin");
  }
  if (options.text("device") != "cpu") settings.chips = find_chips(root);
  settings.device = choose_device(options.text("device"), settings.chips, preset, !settings.pjrt_plugin.empty(), root);
  // A library that cannot be loaded takes every Python program down when it imports torch_tpu, without a word.
  const auto library = preset_text(preset, "TPU_LIBRARY_PATH");
  if (library && settings.device.device == "tpu" && settings.pjrt_plugin.empty())
    require_pjrt_plugin(*library, "TPU_LIBRARY_PATH");
}

// Hosts that are listed are all started from here, and --nnodes only counts them.
void settle_place(const Options& options, const Environment& preset, LaunchSettings& settings) {
  const NodeOptions given{number(options, "nnodes"), number(options, "node-rank")};
  if (given.nnodes == 0) throw Error("--nnodes", "`0` is not a number of hosts", "1 or more");
  if (options.given("host") || options.given("hostfile")) return;
  const auto number_in_slice = [&](const std::string& topology) -> std::optional<int> {
    // A made-up host's chips cannot be asked.
    const bool here = !settings.chips.usable.empty() && !options.given("host-root");
    if (settings.pjrt_plugin.empty() && !here) return std::nullopt;
    const std::string plugin = settings.pjrt_plugin.empty() ? find_libtpu() : settings.pjrt_plugin;
    const auto coordinates = slice_coordinates(plugin, std::min(kCoordinatesS, seconds(options, "timeout", false)));
    return coordinates.empty() ? std::nullopt : host_of_coordinates(topology, coordinates);
  };
  settings.place = find_node_place(given, settings.device.device == "tpu", preset, number_in_slice);
  if (settings.place.several && *options.count("max-restarts") > 0) {
    throw Error("--max-restarts", "one of several tpruns cannot start the whole job again",
                "leave it out; whoever starts the tpruns can, as a Kubernetes Job does");
  }
}

void settle_hosts(const Options& options, const Environment& preset, LaunchSettings& settings) {
  if (options.given("host") && options.given("hostfile"))
    throw Error("--host", "and --hostfile are both given", "keep one of them");
  if (options.given("host")) settings.hosts = parse_host_option(options.text("host"));
  if (options.given("hostfile")) {
    settings.hosts = parse_hostfile(read_text_file(options.text("hostfile"), kLargestHostfile), options.text("hostfile"));
  }
  const bool named = !settings.hosts.empty();
  if (!named && settings.device.device == "cpu" && !options.given("nnodes")) settings.hosts = slurm_hosts(preset);
  // SLURM gives each node at least one task; a number of ranks that the user gives wins over that.
  if (!named && settings.nproc_given) {
    for (HostSlots& host : settings.hosts) host.slots = 0;
  }
  if (settings.hosts.empty()) {
    if (options.given("launch-agent")) throw Error("--launch-agent", "is for other hosts", "--host or --hostfile");
    return;
  }
  if (options.given("node-rank"))
    throw Error("--node-rank", "is for one tprun per host, and the hosts are listed", "leave it out, or the list");
  if (settings.device.device != "cpu")
    throw Error("--device", "hosts of a TPU slice are not started from one of them", "--device cpu");
  settle_slots(settings.hosts, settings.nproc_given ? settings.nproc : 0);
  settings.nproc = settings.hosts[0].slots;
  if (options.given("nnodes") && *options.count("nnodes") != static_cast<int64_t>(settings.hosts.size())) {
    throw Error(
        "--nnodes",
        std::to_string(*options.count("nnodes")) + ", but " + std::to_string(settings.hosts.size()) + " hosts are listed",
        "leave it out");
  }
}

// It is how a plan is told the number of chips; here it would change nothing.
void refuse_other_tp(const Options& options, const LaunchSettings& settings) {
  if (!options.given("tp") || *options.count("tp") == settings.world_size()) return;
  const int ranks = settings.world_size();
  throw Error("--tp",
              options.text("tp") + ", but " + std::to_string(ranks) + (ranks == 1 ? " rank is" : " ranks are") + " started",
              "--nproc-per-node " + options.text("tp") + "; --tp is for plan");
}

}  // namespace

int LaunchSettings::ranks_started() const {
  if (hosts.empty()) return nproc;
  int size = 0;
  for (const HostSlots& host : hosts) size += host.slots;
  return size;
}

int LaunchSettings::world_size() const {
  return ranks_started() * place.nnodes;
}

LaunchSettings launch_settings(const Options& options, const Environment& preset) {
  LaunchSettings settings;
  const std::string root = options.text("host-root");
  settings.cores = usable_cores(usable_cpus(root), root);
  settle_device(options, preset, settings);
  settings.nproc_given = options.given("nproc-per-node");
  settle_place(options, preset, settings);
  settings.nproc = rank_count(options, settings, preset);
  if (const auto told = preset_number(preset, kDevicesVariable); told && settings.place.several && *told != settings.nproc) {
    throw Error(kDevicesVariable, std::to_string(*told) + ", but this host starts " + std::to_string(settings.nproc) + " ranks",
                "unset it, or leave --nproc-per-node out");
  }
  if (settings.device.device == "tpu" && !settings.chips.usable.empty()) require_possible_count(settings.chips, settings.nproc);
  settle_hosts(options, preset, settings);
  settings.threads_given = options.given("threads");
  settings.threads = threads_of(options, preset, settings.cores, settings.nproc);
  settings.timeout_s = seconds(options, "timeout", false);
  settings.grace_s = seconds(options, "grace", true);
  settings.max_restarts = static_cast<int>(std::min<int64_t>(*options.count("max-restarts"), 1000000));
  refuse_other_tp(options, settings);
  return settings;
}

LaunchSettings with_ranks(const Options& options, const Environment& preset, int ranks) {
  LaunchSettings settings = launch_settings(options, preset);
  if (!settings.hosts.empty()) throw Error("--sweep-tp", "is for one host", "leave --host and --hostfile out");
  settings.nproc = ranks;
  settings.nproc_given = true;
  if (settings.device.device == "tpu" && !settings.chips.usable.empty()) require_possible_count(settings.chips, ranks);
  settings.threads = threads_of(options, preset, settings.cores, ranks);
  return settings;
}

LaunchEnvRequest launch_env_request(const Options& options, const LaunchSettings& settings, const Environment& preset) {
  LaunchEnvRequest request;
  request.nproc = settings.nproc;
  request.world_size = settings.world_size();
  request.place = settings.place;
  request.master_port = number(options, "master-port");
  request.master_addr = options.text("master-addr");
  request.tpu = settings.device.device == "tpu";
  request.check_counts = !settings.chips.usable.empty();
  request.chips = settings.chips;
  request.pjrt_plugin = settings.pjrt_plugin;
  request.preset = preset;
  return request;
}

}  // namespace tp
