#include "runtime/aot_topology.h"

#include <algorithm>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr const char* kNewestName = "tpu7x:";

// Names that the table has for `generation`, or all.
std::string listed(const std::string& generation) {
  std::string some, all;
  for (const AotTopology& topology : aot_topologies()) {
    all += (all.empty() ? "" : ", ") + topology.name;
    if (topology.generation == generation) some += (some.empty() ? "" : ", ") + topology.name;
  }
  return some.empty() ? all : some;
}

// A generation's sizes from one chip to the largest slice, with its devices per chip and how libtpu calls it.
struct Generation {
  std::string name, libtpu_name, accelerator;
  int devices_per_chip = 1;
  int accelerator_unit = 1;  // what the number in TPU_ACCELERATOR_TYPE counts, of a chip
  std::vector<std::string> sizes;
};

const std::vector<Generation>& generations() {
  static const std::vector<std::string> squares = {"1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16"};
  static const std::vector<std::string> cubes = {"1x1x1", "1x2x1", "2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8"};
  static const std::vector<Generation> all = {
      {"v4", "v4", "v4", 1, 2, cubes},          {"v5e", "v5e", "v5litepod", 1, 1, squares},
      {"v5p", "v5p", "v5p", 1, 2, cubes},       {"v6e", "v6e", "v6e", 1, 1, squares},
      {"v7", "tpu7x", "tpu7x", 2, 2, cubes},
  };
  return all;
}

int chips_of(const std::string& size) {
  int chips = 1;
  for (size_t at = 0; at < size.size();) {
    const size_t end = std::min(size.find('x', at), size.size());
    chips *= std::stoi(size.substr(at, end - at));
    at = end + 1;
  }
  return chips;
}

}  // namespace

const std::vector<AotTopology>& aot_topologies() {
  static const std::vector<AotTopology> table = [] {
    std::vector<AotTopology> rows;
    for (const Generation& generation : generations()) {
      for (const std::string& size : generation.sizes) {
        const int chips = chips_of(size);
        rows.push_back({generation.name + ":" + size, generation.name, chips * generation.devices_per_chip,
                        generation.libtpu_name + ":" + size,
                        generation.accelerator + "-" + std::to_string(chips * generation.accelerator_unit)});
      }
    }
    return rows;
  }();
  return table;
}

const AotTopology& aot_topology(const std::string& name) {
  const std::string plain = name.starts_with(kNewestName) ? "v7:" + name.substr(std::string(kNewestName).size()) : name;
  for (const AotTopology& topology : aot_topologies()) {
    if (topology.name == plain) return topology;
  }
  throw Error("--topology", "`" + name + "` is no slice that is sold",
              "one of: " + listed(plain.substr(0, plain.find(':'))));
}

}  // namespace tp
