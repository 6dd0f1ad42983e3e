#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/preset_values.h"

namespace tp {

// Where this tprun stands among those of its job when there is one per host, as torchrun is started.
struct NodePlace {
  bool several = false;  // launched as one of several, even if they turn out to be one
  int nnodes = 1, node_rank = 0;
  std::vector<std::string> hosts;  // of a TPU slice, from TPU_WORKER_HOSTNAMES; may be empty
};

struct NodeOptions {
  std::optional<int> nnodes, node_rank;  // as given
};

// From the options, else from NNODES' counterparts in the environment of a TPU slice: TPU_WORKER_HOSTNAMES (a host of its own
// sets it too, to one name), JOB_COMPLETION_INDEX; the number of this host also from NODE_RANK, from what the chips say of
// their place
// (`number_in_slice`, asked only where TORCH_TPU_TOPOLOGY describes the slice; empty when they do not tell) and TPU_WORKER_ID.
// Throws Error for counts that contradict each other and when nothing tells which of the hosts this one is.
using NumberInSlice = std::function<std::optional<int>(const std::string& topology)>;
NodePlace find_node_place(const NodeOptions& options, bool tpu, const Environment& preset,
                          const NumberInSlice& number_in_slice);

}  // namespace tp
