#pragma once

#include <memory>
#include <string>

#include "runtime/collectives.h"

namespace tp {

// Where the ranks of a job meet that several tpruns started, one per host.
struct StorePlace {
  std::string host;  // MASTER_ADDR: the host of rank 0, which keeps the store
  int port = 0;      // MASTER_PORT
  int rank = 0, world_size = 1;
};

// Joins all ranks through libtorch's c10d::TCPStore. It carries control messages alone, some round trips each: the tensors of
// such a job travel inside the compiled programs, so all_reduce_sum throws Error. A rank that fails or falls silent ends the
// others within seconds, whatever they wait for: each shows a sign of life, and none of them outlives the store. The end of the
// communicator waits for all ranks. Throws Error for a store that cannot be made or reached within the timeout.
std::unique_ptr<Communicator> join_store(const StorePlace& place, double timeout_s);

}  // namespace tp
