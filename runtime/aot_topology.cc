#include "runtime/aot_topology.h"

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

}  // namespace

const std::vector<AotTopology>& aot_topologies() {
  static const std::vector<AotTopology> table = {
      {"v5e:1x1", "v5e", 1, "v5e:1x1", "v5litepod-1"}, {"v5e:2x2", "v5e", 4, "v5e:2x2", "v5litepod-4"},
      {"v5e:2x4", "v5e", 8, "v5e:2x4", "v5litepod-8"}, {"v6e:1x1", "v6e", 1, "v6e:1x1", "v6e-1"},
      {"v6e:2x2", "v6e", 4, "v6e:2x2", "v6e-4"},       {"v6e:2x4", "v6e", 8, "v6e:2x4", "v6e-8"},
      {"v5p:1x1x1", "v5p", 1, "v5p:1x1x1", "v5p-2"},   {"v5p:1x2x1", "v5p", 2, "v5p:1x2x1", "v5p-4"},
      {"v5p:2x2x1", "v5p", 4, "v5p:2x2x1", "v5p-8"},   {"v5p:2x2x2", "v5p", 8, "v5p:2x2x2", "v5p-16"},
      {"v7:1x1x1", "v7", 2, "tpu7x:1x1x1", "tpu7x-2"}, {"v7:1x2x1", "v7", 4, "tpu7x:1x2x1", "tpu7x-4"},
      {"v7:2x2x1", "v7", 8, "tpu7x:2x2x1", "tpu7x-8"},
  };
  return table;
}

const AotTopology& aot_topology(const std::string& name) {
  const std::string plain = name.starts_with(kNewestName) ? "v7:" + name.substr(std::string(kNewestName).size()) : name;
  for (const AotTopology& topology : aot_topologies()) {
    if (topology.name == plain) return topology;
  }
  throw Error("--topology", "`" + name + "` is not sold as the chips of one host",
              "one of: " + listed(plain.substr(0, plain.find(':'))));
}

}  // namespace tp
