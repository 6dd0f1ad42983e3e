#include "launcher/launch_env.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "launcher/topology.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr int kTpuBasePort = 8070;  // torch_tpu's default for several hosts
constexpr int kTpuMasterPort = 29500;
constexpr int kHighestPort = 65535;
constexpr const char* kAddresses = "TORCH_TPU_SLICEBUILDER_ADDRESSES";
constexpr const char* kTopology = "TORCH_TPU_TOPOLOGY";

class EnvMaker {
 public:
  explicit EnvMaker(const LaunchEnvRequest& request) : request_(request), place_(request.place) {}

  LaunchEnv make() {
    add_torchrun();
    note_overwritten();
    if (request_.tpu) {
      add_addresses();
      add_topology();
      add_session();
      note_leftovers();
    }
    return std::move(env_);
  }

 private:
  std::optional<std::string> preset(const std::string& name) const { return preset_text(request_.preset, name); }

  int lease_any() {
    env_.leases.push_back(PortLease::any());
    return env_.leases.back().port();
  }

  void add_torchrun() {
    const int local = request_.nproc;
    world_ = request_.world_size > 0 ? request_.world_size : local * place_.nnodes;
    env_.common["WORLD_SIZE"] = std::to_string(world_);
    env_.common["LOCAL_WORLD_SIZE"] = std::to_string(local);
    env_.common["GROUP_RANK"] = std::to_string(place_.node_rank);
    env_.common["MASTER_ADDR"] = master_addr();
    env_.common["MASTER_PORT"] = std::to_string(master_port());
    if (place_.several) {
      env_.common["NNODES"] = std::to_string(place_.nnodes);
      env_.common["NODE_RANK"] = std::to_string(place_.node_rank);
    }
    for (int i = 0; i < local; ++i) {
      env_.ranks.push_back({{"RANK", std::to_string(place_.node_rank * local + i)}, {"LOCAL_RANK", std::to_string(i)}});
    }
    if (!request_.pjrt_plugin.empty()) env_.common["TPU_LIBRARY_PATH"] = request_.pjrt_plugin;
  }

  // A name or an address; the port has an option of its own. More than one colon is IPv6.
  static std::string checked_host(const std::string& host, const char* where) {
    if (!is_host(host)) throw Error(where, "`" + host + "` is not a host", "the name or address of the first host");
    if (std::count(host.begin(), host.end(), ':') == 1)
      throw Error(where, "`" + host + "` has a port", "the host alone; --master-port " + host.substr(host.find(':') + 1));
    return host;
  }

  std::string master_addr() const {
    if (!request_.master_addr.empty()) return checked_host(request_.master_addr, "--master-addr");
    if (const auto given = preset("MASTER_ADDR")) return checked_host(*given, "MASTER_ADDR");
    if (!place_.several) return "127.0.0.1";
    if (place_.hosts.empty()) throw Error("--master-addr", "is needed with several hosts", "the address of the first host");
    return place_.hosts[0];
  }

  int master_port() {
    const auto from_env = preset_number(request_.preset, "MASTER_PORT");
    const auto given = request_.master_port ? request_.master_port : from_env;
    const char* where = request_.master_port ? "--master-port" : "MASTER_PORT";
    if (!given && !place_.several) return lease_any();
    return own_port(given.value_or(kTpuMasterPort), where);
  }

  // A port that the first host listens at.
  int own_port(int port, const char* where) {
    if (port < 1 || port > kHighestPort)
      throw Error(where, std::to_string(port) + " is not a port", "a number from 1 to 65535");
    if (place_.node_rank == 0) env_.leases.push_back(PortLease::exactly(port, where));
    return port;
  }

  void add_addresses() {
    if (const auto given = preset(kAddresses)) {
      check_addresses(*given);
      env_.common[kAddresses] = *given;
      return;
    }
    std::string list;
    const int base = preset_number(request_.preset, "TORCH_TPU_BASE_PORT").value_or(kTpuBasePort);
    const auto add = [&](const std::string& host, int port) {
      list += (list.empty() ? "" : ",") + host + ":" + std::to_string(port);
    };
    if (!place_.several) {
      for (int i = 0; i < world_; ++i) add("localhost", lease_any());
    } else {
      if (place_.hosts.empty())
        throw Error("TPU_WORKER_HOSTNAMES", "is not set", "set it to the names of all hosts, with commas between");
      if (base < 1 || base + request_.nproc > kHighestPort)
        throw Error("TORCH_TPU_BASE_PORT", std::to_string(base) + " leaves no room for the ports", "unset it");
      for (const std::string& host : place_.hosts) {
        for (int i = 0; i < request_.nproc; ++i) add(host, base + i);
      }
      for (int i = 0; i < request_.nproc; ++i) env_.leases.push_back(PortLease::exactly(base + i, "TORCH_TPU_BASE_PORT"));
    }
    env_.common[kAddresses] = list;
  }

  void check_addresses(const std::string& list) {
    const std::string fix = "unset it, or set it to host:port of every rank";
    const std::vector<std::string> addresses = comma_list(list);
    if (addresses.size() != static_cast<size_t>(world_)) {
      throw Error(kAddresses, "has " + std::to_string(addresses.size()) + " addresses for " + std::to_string(world_) + " ranks",
                  fix);
    }
    std::set<std::string> seen;
    for (const std::string& address : addresses) {
      const size_t colon = address.rfind(':');
      const auto port = colon == std::string::npos ? std::nullopt : whole_number(address.substr(colon + 1));
      if (!port || !is_host(address.substr(0, colon)) || *port < 1 || *port > kHighestPort)
        throw Error(kAddresses, "`" + address + "` is not host:port", fix);
      if (!seen.insert(address).second) throw Error(kAddresses, "`" + address + "` is there twice", fix);
      const size_t node = (seen.size() - 1) / static_cast<size_t>(request_.nproc);
      if (node == static_cast<size_t>(place_.node_rank)) env_.leases.push_back(PortLease::exactly(*port, kAddresses));
    }
  }

  void add_topology() {
    std::string topology = preset(kTopology).value_or("");
    if (topology.empty() && place_.several) topology = slice_topology();
    if (topology.empty() && !request_.check_counts) topology = "1," + std::to_string(world_) + ",1";
    if (topology.empty() && !request_.chips.usable.empty())
      topology = host_topology(request_.chips.usable.front().generation, world_);
    if (topology.empty())
      throw Error(
          kTopology,
          "no topology is known for " + std::to_string(world_) + " ranks on " + std::to_string(place_.nnodes) + " hosts",
          "set it, for example 4,4,1");
    if (topology_product(topology) != world_) {
      throw Error(kTopology, "`" + topology + "` is not a topology of " + std::to_string(world_) + " ranks",
                  "unset it, or set sizes whose product is " + std::to_string(world_));
    }
    env_.common[kTopology] = topology;
  }

  // GKE's TPU_TOPOLOGY, "4x4" or "2x2x4", counts chips; torch_tpu's has three sizes, and a fourth where a chip is two devices.
  std::string slice_topology() const {
    std::string topology = preset("TPU_TOPOLOGY").value_or("");
    std::replace(topology.begin(), topology.end(), 'x', ',');
    if (topology.empty()) return topology;
    if (std::count(topology.begin(), topology.end(), ',') == 1) topology += ",1";
    const bool pairs = !request_.chips.usable.empty() && request_.chips.usable.front().generation == "v7";
    return pairs ? topology + ",2" : topology;
  }

  // The time in ns. Hosts that start by themselves cannot agree on one: theirs is made of what they agree on.
  std::string session() const {
    if (place_.several) {
      const auto& master = env_.common;
      return std::to_string(
          std::hash<std::string>()(master.at(kAddresses) + master.at("MASTER_ADDR") + master.at("MASTER_PORT")) >> 2);
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }

  void add_session() {
    env_.common["TORCH_TPU_XPROF_SESSION_ID"] = preset("TORCH_TPU_XPROF_SESSION_ID").value_or(session());
    // torch.compile's handshake has a fixed default port: a second job on this host would meet the first one there.
    const char* name = "TORCH_TPU_INTERNAL_HANDSHAKE_PORT";
    const auto handshake = preset_number(request_.preset, name);
    if (handshake || !place_.several) env_.common[name] = std::to_string(handshake ? own_port(*handshake, name) : lease_any());
  }

  // A rank's own place cannot be that of another job, so here what is set does not win; it is told, for whoever meant it to.
  void note_overwritten() {
    std::string list;
    const auto add = [&](const char* name, const std::string& value) {
      list += (list.empty() ? "" : ", ") + (name + ("=" + value));
    };
    for (const char* name : {"RANK", "LOCAL_RANK"}) {
      const auto left = preset(name);
      if (left && (world_ > 1 || *left != "0")) add(name, *left);
    }
    for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NNODES", "NODE_RANK"}) {
      const auto left = preset(name);
      const auto ours = env_.common.find(name);
      if (left && ours != env_.common.end() && *left != ours->second) add(name, *left);
    }
    if (!list.empty())
      env_.notes.push_back(list + " of the environment is another job's; ranks get the values of this one, of " +
                           std::to_string(world_) + (world_ == 1 ? " rank" : " ranks"));
  }

  // What torch_tpu and libtpu set for each rank of a job, found in the environment of the launcher.
  void note_leftovers() {
    const Environment ours = world_ > 0 ? libtpu_environment(env_, 0) : Environment();
    for (const auto& [name, value] : ours) {
      if (name == "LIBTPU_INIT_ARGS" || name == "ALLOW_MULTIPLE_LIBTPU_LOAD" || name == "TPU_PREMAPPED_BUFFER_SIZE") continue;
      const auto left = preset(name);
      // What differs from rank to rank cannot be right for all of them.
      const bool own =
          world_ > 1 && (name == "CLOUD_TPU_TASK_ID" || name.starts_with("TPU_VISIBLE_") || name == "TPU_PROCESS_PORT");
      if (left && (*left != value || own))
        env_.notes.push_back(name + "=" + *left + " is left over from another job (" +
                             (own ? "each rank of this one has its own" : "this one has " + value) + "): unset it");
    }
  }

  const LaunchEnvRequest& request_;
  const NodePlace& place_;
  LaunchEnv env_;
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
  const std::string own = comma_list(addresses)[static_cast<size_t>(std::stoi(rank))];
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
