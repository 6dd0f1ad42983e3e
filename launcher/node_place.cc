#include "launcher/node_place.h"

#include <algorithm>

#include "sharding/error.h"

namespace tp {
namespace {

int node_rank_of(const NodeOptions& options, const Environment& preset, bool tpu, const NumberInSlice& number_in_slice) {
  if (options.node_rank) return *options.node_rank;
  if (const auto number = preset_number(preset, "NODE_RANK")) return *number;
  if (tpu) {
    // Only a topology that was set describes the whole slice.
    const auto topology = preset_text(preset, "TORCH_TPU_TOPOLOGY");
    if (const auto number = topology ? number_in_slice(*topology) : std::nullopt) return *number;
    // Of an indexed Kubernetes Job, and what GKE and Cloud TPU number the hosts of a slice by.
    for (const char* name : {"JOB_COMPLETION_INDEX", "TPU_WORKER_ID"}) {
      if (const auto number = preset_number(preset, name)) return *number;
    }
  }
  throw Error("--node-rank", "is needed with several hosts", "0 on the first host, 1 on the second, …");
}

// Blanks around a name and empty names between commas count for nothing, as torch_tpu has it.
std::vector<std::string> worker_hosts(const std::string& names) {
  constexpr const char* kName = "TPU_WORKER_HOSTNAMES";
  const std::string fix = "set it to the names of all hosts, with commas between";
  std::vector<std::string> hosts;
  for (std::string host : comma_list(names)) {
    host.erase(0, std::min(host.find_first_not_of(" \t"), host.size()));
    host.erase(host.find_last_not_of(" \t") + 1);
    if (host.empty()) continue;
    if (!is_host(host)) throw Error(kName, "`" + host + "` is not a host", fix);
    if (std::find(hosts.begin(), hosts.end(), host) != hosts.end()) throw Error(kName, host + " is there twice", fix);
    hosts.push_back(std::move(host));
  }
  return hosts;
}

}  // namespace

NodePlace find_node_place(const NodeOptions& options, bool tpu, const Environment& preset,
                          const NumberInSlice& number_in_slice) {
  NodePlace place;
  if (const auto names = preset_text(preset, "TPU_WORKER_HOSTNAMES"); names && tpu) place.hosts = worker_hosts(*names);
  const bool indexed = tpu && preset_number(preset, "JOB_COMPLETION_INDEX").has_value();
  place.several = place.hosts.size() > 1 || options.nnodes.value_or(1) > 1 || indexed;
  if (!place.several) {
    if (options.node_rank.value_or(0) != 0)
      throw Error("--node-rank", std::to_string(*options.node_rank) + " of 1 host", "--nnodes N");
    return place;
  }
  place.nnodes = options.nnodes.value_or(static_cast<int>(std::max<size_t>(1, place.hosts.size())));
  if (tpu && !place.hosts.empty() && static_cast<size_t>(place.nnodes) != place.hosts.size()) {
    throw Error("TPU_WORKER_HOSTNAMES",
                "names " + std::to_string(place.hosts.size()) + " hosts, --nnodes is " + std::to_string(place.nnodes),
                "set it to the names of all hosts, with commas between");
  }
  place.node_rank = node_rank_of(options, preset, tpu, number_in_slice);
  if (place.node_rank >= place.nnodes) {
    const bool one = place.nnodes == 1;
    throw Error("--node-rank",
                std::to_string(place.node_rank) + " of " + std::to_string(place.nnodes) + (one ? " host" : " hosts"),
                one ? "--nnodes N" : "a number from 0 to " + std::to_string(place.nnodes - 1));
  }
  // An indexed Job of one pod need not name its host.
  if (place.nnodes == 1 && place.hosts.empty()) place.hosts = {"localhost"};
  return place;
}

}  // namespace tp
