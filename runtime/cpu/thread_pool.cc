#include "runtime/cpu/thread_pool.h"

#include <chrono>

#include "runtime/cpu/spin_wait.h"

namespace tp::cpu {
namespace {

// About the pause between two parallel calls of a decode step, short against a request.
constexpr std::chrono::microseconds kSpinFor{40};
constexpr uint64_t kNoTask = 0xffffffffU;

uint64_t state_of(uint32_t call, uint64_t next) {
  return (static_cast<uint64_t>(call) << 32) | next;
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { worker(); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  call_.fetch_add(1);
  call_.notify_all();
  for (std::thread& thread : workers_) thread.join();
}

void ThreadPool::run(int64_t tasks, Task task, const void* context) {
  const uint32_t call = call_.load(std::memory_order_relaxed) + 1;
  // Closed first: a worker that still holds the last call's state must fail to claim from it once the fields change.
  state_.exchange(state_of(call, kNoTask), std::memory_order_acq_rel);
  task_.store(task, std::memory_order_release);
  context_.store(context, std::memory_order_release);
  tasks_.store(static_cast<uint32_t>(tasks), std::memory_order_release);
  done_.store(0, std::memory_order_relaxed);
  state_.store(state_of(call, 0), std::memory_order_release);
  call_.store(call);  // sequentially consistent: a worker about to sleep either sees it or is seen by notify_all
  call_.notify_all();
  work(call);
  const auto finished = [&] { return done_.load(std::memory_order_acquire) == static_cast<uint32_t>(tasks); };
  while (!spin(finished, kSpinFor)) {
    const uint32_t seen = done_.load(std::memory_order_acquire);
    if (seen != static_cast<uint32_t>(tasks)) done_.wait(seen, std::memory_order_acquire);
  }
}

void ThreadPool::work(uint32_t call) {
  uint64_t state = state_.load(std::memory_order_acquire);
  for (;;) {
    const uint32_t next = static_cast<uint32_t>(state);
    const uint32_t tasks = tasks_.load(std::memory_order_acquire);
    if (static_cast<uint32_t>(state >> 32) != call || next >= tasks) return;
    const Task task = task_.load(std::memory_order_acquire);
    const void* const context = context_.load(std::memory_order_acquire);
    if (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
    task(context, next);
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == tasks) done_.notify_all();
    state = state_.load(std::memory_order_acquire);
  }
}

void ThreadPool::worker() {
  uint32_t seen = 0;
  for (;;) {
    const auto called = [&] { return call_.load(std::memory_order_acquire) != seen; };
    while (!spin(called, kSpinFor)) call_.wait(seen, std::memory_order_acquire);
    seen = call_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    work(seen);
  }
}

}  // namespace tp::cpu
