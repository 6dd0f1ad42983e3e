#include "launcher/launch_env.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

#include "launcher/topology.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr int kTpuBasePort = 8070;  // torch_tpu's default for several hosts
constexpr int kTpuMasterPort = 29500;
constexpr int kDevicesPerHost = 8;  // torch_tpu's guess when nothing tells
constexpr int kHighestPort = 65535;
constexpr const char* kAddresses = "TORCH_TPU_SLICEBUILDER_ADDRESSES";
constexpr const char* kTopology = "TORCH_TPU_TOPOLOGY";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

class EnvMaker {
 public:
  explicit EnvMaker(const LaunchEnvRequest& request) : request_(request) {}

  LaunchEnv make() {
    find_place();
    add_torchrun();
    if (request_.tpu) {
      add_addresses();
      add_topology();
      add_session();
      note_leftovers();
    }
    return std::move(env_);
  }

 private:
  std::optional<std::string> preset(const std::string& name) const {
    const auto value = request_.preset.find(name);
    return value == request_.preset.end() || value->second.empty() ? std::nullopt : std::optional<std::string>(value->second);
  }

  std::optional<int> preset_number(const std::string& name) const {
    const auto text = preset(name);
    if (!text) return std::nullopt;
    const auto number = whole_number(*text);
    if (!number) throw Error(name, "`" + *text + "` is not a whole number", "unset it, or set it right");
    return number;
  }

  void find_place() {
    if (const auto names = preset("TPU_WORKER_HOSTNAMES"); names && request_.tpu) hosts_ = split(*names);
    const auto completion = request_.tpu ? preset_number("JOB_COMPLETION_INDEX") : std::nullopt;
    multi_ = hosts_.size() > 1 || request_.nnodes.value_or(1) > 1 || completion.has_value();
    if (!multi_) {
      if (request_.node_rank.value_or(0) != 0)
        throw Error("--node-rank", std::to_string(*request_.node_rank) + " of 1 host", "--nnodes N");
      return;
    }
    env_.nnodes = request_.nnodes.value_or(static_cast<int>(std::max<size_t>(1, hosts_.size())));
    if (request_.tpu && static_cast<size_t>(env_.nnodes) != hosts_.size()) {
      throw Error("TPU_WORKER_HOSTNAMES",
                  "names " + std::to_string(hosts_.size()) + " hosts, --nnodes is " + std::to_string(env_.nnodes),
                  "set it to the names of all hosts, with commas between");
    }
    const auto from_env = preset_number("NODE_RANK");
    env_.node_rank = request_.node_rank ? *request_.node_rank : from_env ? *from_env : completion.value_or(0);
    if (env_.node_rank >= env_.nnodes) {
      throw Error("--node-rank", std::to_string(env_.node_rank) + " of " + std::to_string(env_.nnodes) + " hosts",
                  "a number from 0 to " + std::to_string(env_.nnodes - 1));
    }
  }

  int ranks_per_host() const {
    if (!multi_ || !request_.tpu) return request_.nproc;
    if (const auto preset_count = preset_number("TORCH_TPU_DEVICES_PER_HOST")) return *preset_count;
    if (request_.nproc_given) return request_.nproc;
    return request_.chips.usable.empty() ? kDevicesPerHost : request_.chips.device_count();
  }

  int lease_any() {
    env_.leases.push_back(PortLease::any());
    return env_.leases.back().port();
  }

  void add_torchrun() {
    const int local = ranks_per_host();
    world_ = local * env_.nnodes;
    env_.common["WORLD_SIZE"] = std::to_string(world_);
    env_.common["LOCAL_WORLD_SIZE"] = std::to_string(local);
    env_.common["GROUP_RANK"] = std::to_string(env_.node_rank);
    env_.common["MASTER_ADDR"] = !request_.master_addr.empty() ? request_.master_addr
                                 : preset("MASTER_ADDR")       ? *preset("MASTER_ADDR")
                                 : multi_ && !hosts_.empty()   ? hosts_[0]
                                                               : "127.0.0.1";
    env_.common["MASTER_PORT"] = std::to_string(master_port());
    if (multi_) {
      env_.common["NNODES"] = std::to_string(env_.nnodes);
      env_.common["NODE_RANK"] = std::to_string(env_.node_rank);
    }
    for (int i = 0; i < local; ++i) {
      env_.ranks.push_back({{"RANK", std::to_string(env_.node_rank * local + i)}, {"LOCAL_RANK", std::to_string(i)}});
    }
    if (!request_.pjrt_plugin.empty()) env_.common["TPU_LIBRARY_PATH"] = request_.pjrt_plugin;
  }

  int master_port() {
    const auto from_env = preset_number("MASTER_PORT");
    const auto given = request_.master_port ? request_.master_port : from_env;
    const char* where = request_.master_port ? "--master-port" : "MASTER_PORT";
    if (!given) return multi_ ? kTpuMasterPort : lease_any();
    if (*given < 1 || *given > kHighestPort)
      throw Error(where, std::to_string(*given) + " is not a port", "a number from 1 to 65535");
    if (env_.node_rank == 0) env_.leases.push_back(PortLease::exactly(*given, where));
    return *given;
  }

  void add_addresses() {
    if (const auto given = preset(kAddresses)) {
      check_addresses(*given);
      env_.common[kAddresses] = *given;
      return;
    }
    std::string list;
    const int base = preset_number("TORCH_TPU_BASE_PORT").value_or(kTpuBasePort);
    const auto add = [&](const std::string& host, int port) {
      list += (list.empty() ? "" : ",") + host + ":" + std::to_string(port);
    };
    if (!multi_) {
      for (int i = 0; i < world_; ++i) add("localhost", lease_any());
    } else {
      if (base < 1 || base + ranks_per_host() > kHighestPort)
        throw Error("TORCH_TPU_BASE_PORT", std::to_string(base) + " leaves no room for the ports", "unset it");
      for (const std::string& host : hosts_) {
        for (int i = 0; i < ranks_per_host(); ++i) add(host, base + i);
      }
    }
    env_.common[kAddresses] = list;
  }

  void check_addresses(const std::string& list) {
    const std::string fix = "unset it, or set it to host:port of every rank";
    const std::vector<std::string> addresses = split(list);
    if (addresses.size() != static_cast<size_t>(world_)) {
      throw Error(kAddresses, "has " + std::to_string(addresses.size()) + " addresses for " + std::to_string(world_) + " ranks",
                  fix);
    }
    std::set<std::string> seen;
    for (const std::string& address : addresses) {
      const size_t colon = address.rfind(':');
      const auto port = colon == std::string::npos ? std::nullopt : whole_number(address.substr(colon + 1));
      if (!port || colon == 0 || *port < 1 || *port > kHighestPort)
        throw Error(kAddresses, "`" + address + "` is not host:port", fix);
      if (!seen.insert(address).second) throw Error(kAddresses, "`" + address + "` is there twice", fix);
      if (!multi_) env_.leases.push_back(PortLease::exactly(*port, kAddresses));
    }
  }

  void add_topology() {
    std::string topology = preset(kTopology).value_or("");
    if (topology.empty() && !request_.check_counts) topology = "1," + std::to_string(world_) + ",1";
    if (topology.empty() && !request_.chips.usable.empty())
      topology = host_topology(request_.chips.usable.front().generation, world_);
    if (topology.empty())
      throw Error(kTopology,
                  "no topology is known for " + std::to_string(world_) + " ranks on " + std::to_string(env_.nnodes) + " hosts",
                  "set it, for example 4,4,1");
    if (topology_product(topology) != world_) {
      throw Error(kTopology, "`" + topology + "` is not a topology of " + std::to_string(world_) + " ranks",
                  "unset it, or set sizes whose product is " + std::to_string(world_));
    }
    env_.common[kTopology] = topology;
  }

  void add_session() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    env_.common["TORCH_TPU_XPROF_SESSION_ID"] = preset("TORCH_TPU_XPROF_SESSION_ID").value_or(std::to_string(ns));
    // torch.compile's handshake has a fixed default port: a second job on this host would meet the first one there.
    const auto handshake = preset("TORCH_TPU_INTERNAL_HANDSHAKE_PORT");
    if (handshake || !multi_)
      env_.common["TORCH_TPU_INTERNAL_HANDSHAKE_PORT"] = handshake ? *handshake : std::to_string(lease_any());
  }

  // What torch_tpu and libtpu set for each rank of a job, found in the environment of the launcher.
  void note_leftovers() {
    const Environment ours = world_ > 0 ? libtpu_environment(env_, 0) : Environment();
    for (const auto& [name, value] : ours) {
      if (name == "LIBTPU_INIT_ARGS" || name == "ALLOW_MULTIPLE_LIBTPU_LOAD" || name == "TPU_PREMAPPED_BUFFER_SIZE") continue;
      const auto left = preset(name);
      // What differs from rank to rank cannot be right for all of them.
      const bool own = name == "CLOUD_TPU_TASK_ID" || name.starts_with("TPU_VISIBLE_") || name == "TPU_PROCESS_PORT";
      if (left && (*left != value || (own && world_ > 1)))
        env_.notes.push_back(name + "=" + *left + " is left over from another job (this one has " + value + "): unset it");
    }
  }

  const LaunchEnvRequest& request_;
  LaunchEnv env_;
  std::vector<std::string> hosts_;
  bool multi_ = false;
  int world_ = 1;
};

}  // namespace

Environment place_environment(const std::vector<RankHello>& places, size_t rank) {
  const RankHello& own = places[rank];
  int group = -1;
  for (size_t i = 0; i <= rank; ++i) group += places[i].local_rank == 0 ? 1 : 0;
  return {{"RANK", std::to_string(own.rank)},
          {"LOCAL_RANK", std::to_string(own.local_rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(own.local_size)},
          {"GROUP_RANK", std::to_string(group)}};
}

LaunchEnv make_launch_env(const LaunchEnvRequest& request) {
  return EnvMaker(request).make();
}

Environment libtpu_environment(const LaunchEnv& env, int local_rank) {
  const std::string rank = env.ranks[static_cast<size_t>(local_rank)].at("RANK");
  const std::string& addresses = env.common.at(kAddresses);
  const std::string own = split(addresses)[static_cast<size_t>(std::stoi(rank))];
  const std::string bounds = env.common.at(kTopology);
  const std::string chip = std::to_string(local_rank);
  return {{"ALLOW_MULTIPLE_LIBTPU_LOAD", "1"},
          {"CLOUD_TPU_TASK_ID", rank},
          {"TPU_VISIBLE_CHIPS", chip},
          {"TPU_VISIBLE_DEVICES", chip},
          {"TPU_CHIPS_PER_PROCESS_BOUNDS", "1,1,1"},
          {"TPU_CHIPS_PER_HOST_BOUNDS", "1,1,1"},
          {"TPU_PROCESS_BOUNDS", bounds},
          {"TPU_HOST_BOUNDS", bounds},
          {"TPU_PROCESS_ADDRESSES", addresses},
          {"TPU_PROCESS_PORT", own.substr(own.rfind(':') + 1)},
          {"TPU_PREMAPPED_BUFFER_SIZE", "0"},
          {"LIBTPU_INIT_ARGS",
           "--xla_tpu_use_enhanced_launch_barrier=false --slicebuilder_use_insecure_grpc=true "
           "--undefok=slicebuilder_use_insecure_grpc"}};
}

}  // namespace tp
