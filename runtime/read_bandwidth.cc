#include "runtime/read_bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace tp {
namespace {

// More than the last cache of today's processors, for each rank.
constexpr int64_t kBytes = int64_t{192} << 20;
constexpr int kPasses = 4;

// Several independent sums: one chain of additions would be slower than memory.
uint64_t sum_words(const uint64_t* words, int64_t count) {
  constexpr int kSums = 32;
  uint64_t sums[kSums] = {};
  for (int64_t i = 0; i + kSums <= count; i += kSums)
    for (int j = 0; j < kSums; ++j) sums[j] += words[i + j];
  uint64_t sum = 0;
  for (uint64_t part : sums) sum += part;
  return sum;
}

}  // namespace

double measure_read_bandwidth(int threads, Communicator& communicator) {
  using Clock = std::chrono::steady_clock;
  const int64_t words = kBytes / static_cast<int64_t>(sizeof(uint64_t)), share = words / threads;
  const std::vector<uint64_t> buffer(static_cast<size_t>(words), 1);
  std::vector<uint64_t> sums(static_cast<size_t>(threads));
  const auto pass = [&] {
    std::vector<std::jthread> helpers;
    for (int t = 1; t < threads; ++t)
      helpers.emplace_back([&, t] { sums[static_cast<size_t>(t)] += sum_words(buffer.data() + t * share, share); });
    sums[0] += sum_words(buffer.data(), share);
  };
  pass();
  // The best pass of all ranks together: another process's noise is not the machine's limit.
  double best = 0;
  for (int i = 0; i < kPasses; ++i) {
    communicator.barrier();
    const auto begin = Clock::now();
    pass();
    const auto mine = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
    const double seconds = static_cast<double>(communicator.max(mine)) / 1e9;
    best = std::max(best, static_cast<double>(share * threads) * sizeof(uint64_t) * communicator.world_size() / seconds);
  }
  // The sums have to be used, or no byte need be read.
  return sums[0] == 0 ? 0.0 : best;
}

}  // namespace tp
