#include "runtime/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

namespace tp::cpu {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> ran(static_cast<size_t>(tasks));
      pool.parallel_for(tasks, [&](int64_t task) { ran[static_cast<size_t>(task)].fetch_add(1); });
      for (const auto& count : ran) EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadPool, ManyShortCallsInARow) {
  ThreadPool pool(4);
  int64_t sum = 0;
  for (int call = 0; call < 3000; ++call) {
    int64_t parts[5] = {};
    pool.parallel_for(1 + call % 5, [&](int64_t task) { parts[task] = call; });
    sum += std::accumulate(parts, parts + 5, int64_t{0}) - int64_t{call} * (1 + call % 5);
  }
  EXPECT_EQ(sum, 0);
}

TEST(ThreadPool, WakesFromSleep) {
  ThreadPool pool(3);
  for (int call = 0; call < 5; ++call) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> ran = 0;
    pool.parallel_for(16, [&](int64_t) { ran.fetch_add(1); });
    EXPECT_EQ(ran.load(), 16);
  }
}

TEST(ThreadPool, OnePoolPerRank) {
  std::vector<std::thread> ranks;
  std::atomic<int64_t> total = 0;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&] {
      ThreadPool pool(2);
      for (int call = 0; call < 200; ++call) pool.parallel_for(8, [&](int64_t task) { total.fetch_add(task); });
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(total.load(), 3 * 200 * 28);
}

}  // namespace
}  // namespace tp::cpu
