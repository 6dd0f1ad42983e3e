// tprun-shm-bench [RANKS]: sums over the ranks of one host through shared memory, one process per rank. Prints microseconds per
// call, the best batch of calls on the slowest rank.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "runtime/shm_exchange.h"

namespace tp {
namespace {

void run_rank(ShmSegment segment, int rank, int world_size) {
  ShmExchange exchange(std::move(segment), rank, world_size, 60);
  for (int64_t count : {256, 1024, 2048, 16384, 262144, 1048576}) {
    std::vector<float> data(static_cast<size_t>(count), 1.0F);
    const int calls = count > 100000 ? 3 : 50;
    double best = 1e9;
    for (int batch = 0; batch < 30; ++batch) {
      exchange.barrier();
      const auto begin = std::chrono::steady_clock::now();
      for (int call = 0; call < calls; ++call) exchange.all_reduce_sum(data.data(), count);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls);
      std::fill(data.begin(), data.end(), 1.0F);
    }
    std::vector<double> all(static_cast<size_t>(world_size));
    exchange.all_gather(&best, all.data(), sizeof(best));
    if (rank == 0) {
      std::printf("%d ranks %8.1f kB %10.2f us\n", world_size, static_cast<double>(count) * 4 / 1024,
                  *std::max_element(all.begin(), all.end()) * 1e6);
      std::fflush(stdout);
    }
  }
}

int run(int world_size) {
  ShmSegment segment = ShmSegment::create(world_size);
  const std::string address = segment.address();
  for (int rank = 1; rank < world_size; ++rank) {
    if (fork() == 0) {
      run_rank(ShmSegment::open(address, world_size), rank, world_size);
      std::_Exit(0);
    }
  }
  run_rank(std::move(segment), 0, world_size);
  while (wait(nullptr) > 0) {
  }
  return 0;
}

}  // namespace
}  // namespace tp

int main(int argc, char** argv) {
  return tp::run(argc > 1 ? std::atoi(argv[1]) : 2);
}
