#pragma once

#include <string>
#include <vector>

namespace tp {

// Chips as they are sold, of one host or a slice of several, and how libtpu's compiler calls them.
struct AotTopology {
  std::string name;         // as on the command line: "v5e:2x2"
  std::string generation;   // "v5e"
  int devices = 0;          // ranks; a v7 chip has two
  std::string libtpu_name;  // "v5e:2x2", "tpu7x:2x2x1"
  std::string accelerator;  // value of TPU_ACCELERATOR_TYPE
};

// By generation, smaller ones first.
const std::vector<AotTopology>& aot_topologies();
// Throws Error, listing the generation's topologies, for one that nobody sells. "tpu7x" means v7.
const AotTopology& aot_topology(const std::string& name);

}  // namespace tp
