#include "launcher/topology.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "launcher/preset_values.h"
#include "sharding/error.h"

namespace tp {
namespace {

using Table = std::map<int, std::string>;

const Table& table_of(std::string_view generation) {
  static const Table cubes = {{1, "1,1,1"}, {2, "1,2,1"}, {4, "2,2,1"}, {8, "2,2,2"}};
  static const Table squares = {{1, "1,1,1"}, {4, "2,2,1"}, {8, "2,4,1"}};
  static const Table pairs = {{2, "1,1,1,2"}, {4, "1,2,1,2"}, {8, "2,2,1,2"}};
  if (generation == "v7") return pairs;
  return generation == "v5e" || generation == "v6e" ? squares : cubes;
}

std::string joined_with_or(const std::vector<int>& counts) {
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == counts.size() ? " or " : ", ") + std::to_string(counts[i]);
  }
  return text;
}

}  // namespace

std::string host_topology(std::string_view generation, int ranks) {
  const Table& table = table_of(generation);
  const auto row = table.find(ranks);
  return row == table.end() ? "" : row->second;
}

std::vector<int> possible_rank_counts(std::string_view generation, int devices) {
  std::vector<int> counts;
  for (const auto& [ranks, topology] : table_of(generation)) {
    if (ranks <= devices) counts.push_back(ranks);
  }
  return counts;
}

void require_possible_count(const HostChips& host, int ranks) {
  if (host.mixed()) {
    std::string names;
    for (const Chip& chip : host.usable) {
      if (names.find(chip.generation) == std::string::npos) names += (names.empty() ? "" : " and ") + chip.generation;
    }
    throw Error("chips", "this host has " + names + " chips; one job needs chips of one generation", "--device cpu");
  }
  const std::string& generation = host.usable.front().generation;
  const int devices = host.device_count();
  const std::string chips = std::to_string(host.usable.size()) + (host.usable.size() == 1 ? " chip" : " chips");
  const std::string possible = generation + " with " + chips + ": " + joined_with_or(possible_rank_counts(generation, devices));
  if (ranks > devices) {
    throw Error("--nproc-per-node",
                "asked " + std::to_string(ranks) + ", found " + chips + " (" + std::to_string(devices) +
                    (devices == 1 ? " device)" : " devices)"),
                possible);
  }
  if (host_topology(generation, ranks).empty()) {
    throw Error("--nproc-per-node",
                "no topology of " + generation + " has " + std::to_string(ranks) + (ranks == 1 ? " device" : " devices"),
                possible);
  }
}

std::optional<int> host_of_coordinates(const std::string& topology, std::vector<int> coordinates) {
  constexpr int kChipsOfHost[] = {2, 2, 1};
  const std::vector<std::string> sizes = comma_list(topology);
  coordinates.resize(3);
  int host = 0;
  for (size_t i = 3; i-- > 0;) {
    const int size = i < sizes.size() ? whole_number(sizes[i]).value_or(0) : 1;
    const int hosts = std::max(1, size / kChipsOfHost[i]), at = coordinates[i] / kChipsOfHost[i];
    if (coordinates[i] < 0 || at >= hosts) return std::nullopt;
    host = host * hosts + at;
  }
  return host;
}

int topology_product(std::string_view topology) {
  int product = 1;
  for (size_t at = 0; at <= topology.size();) {
    const size_t end = std::min(topology.find(',', at), topology.size());
    int size = 0;
    const auto [rest, error] = std::from_chars(topology.data() + at, topology.data() + end, size);
    if (error != std::errc() || rest != topology.data() + end || size < 1 || size > 65536 || product > (1 << 20)) return 0;
    product *= size;
    at = end + 1;
  }
  return product;
}

}  // namespace tp
