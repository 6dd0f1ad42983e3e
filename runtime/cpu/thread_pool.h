#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tp::cpu {

// The threads of one rank. A decode step makes some 200 short parallel calls, so a call must cost about a microsecond: the
// workers spin briefly for the next call, then sleep on a futex. Tasks are handed out one by one, so a thread
// that lost its core (ranks may oversubscribe the machine) holds up one task and not its whole share.
//
// What a task computes must not depend on the thread that runs it: results are then the same for any number of threads.
// One caller at a time, and tasks must not call parallel_for on the same pool. With one thread everything runs inline.
class ThreadPool {
 public:
  // The caller counts as one of `threads` (at least 1).
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls f(task) once for every task in [0, tasks), in parallel; returns when all are done. f must not throw.
  template <class F>
  void parallel_for(int64_t tasks, const F& f) {
    if (workers_.empty() || tasks <= 1) {
      for (int64_t task = 0; task < tasks; ++task) f(task);
      return;
    }
    run(
        tasks, [](const void* context, int64_t task) { (*static_cast<const F*>(context))(task); }, &f);
  }

 private:
  using Task = void (*)(const void* context, int64_t task);

  void run(int64_t tasks, Task task, const void* context);
  void work(uint32_t call);
  void worker();

  // Number of the current call in the upper half, its next unclaimed task in the lower half.
  alignas(64) std::atomic<uint64_t> state_{0};
  alignas(64) std::atomic<uint32_t> done_{0};
  alignas(64) std::atomic<uint32_t> call_{0};
  std::atomic<uint32_t> tasks_{0};
  std::atomic<Task> task_{nullptr};
  std::atomic<const void*> context_{nullptr};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace tp::cpu
