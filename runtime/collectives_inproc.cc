#include "runtime/collectives_inproc.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "sharding/error.h"

namespace tp {
namespace {

// What the ranks share: a meeting point and what each of them shows to the others there.
class Meeting {
 public:
  explicit Meeting(int world_size) : shown_(static_cast<size_t>(world_size)), arrived_(static_cast<size_t>(world_size)) {}

  int world_size() const { return static_cast<int>(shown_.size()); }
  void show(int rank, const void* data) { shown_[static_cast<size_t>(rank)] = data; }
  const void* shown(int rank) const { return shown_[static_cast<size_t>(rank)]; }

  // Returns when every rank has come as often as this one. Waits asleep: ranks are often more than cores.
  void wait(int rank, const char* operation, double timeout_s) {
    std::unique_lock lock(mutex_);
    const int64_t round = ++arrived_[static_cast<size_t>(rank)];
    const auto all_here = [&] { return *std::min_element(arrived_.begin(), arrived_.end()) >= round; };
    if (all_here()) return changed_.notify_all();
    const auto done = [&] { return failure_ || all_here(); };
    if (timeout_s <= 0) {
      changed_.wait(lock, done);
    } else if (!changed_.wait_for(lock, std::chrono::duration<double>(timeout_s), done)) {
      throw Error(operation, "timed out waiting for " + missing(round));
    }
    if (!all_here()) throw Error(operation, "another rank failed");
  }

  // Keeps the first failure.
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    changed_.notify_all();
  }
  std::exception_ptr failure() const { return failure_; }

 private:
  std::string missing(int64_t round) const {
    std::string names;
    for (size_t rank = 0; rank < arrived_.size(); ++rank)
      if (arrived_[rank] < round) names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank);
    return names;
  }

  std::vector<const void*> shown_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int64_t> arrived_;  // how often each rank has come
  std::exception_ptr failure_;
};

class InprocCommunicator : public Communicator {
 public:
  InprocCommunicator(Meeting& meeting, int rank, double timeout_s) : meeting_(meeting), rank_(rank), timeout_s_(timeout_s) {}

  int rank() const override { return rank_; }
  int world_size() const override { return meeting_.world_size(); }

  void broadcast(void* data, int64_t size_bytes, int root) override {
    meeting_.show(rank_, data);
    meeting_.wait(rank_, "broadcast", timeout_s_);
    if (rank_ != root) std::memcpy(data, meeting_.shown(root), static_cast<size_t>(size_bytes));
    meeting_.wait(rank_, "broadcast", timeout_s_);
  }

  void barrier() override { meeting_.wait(rank_, "barrier", timeout_s_); }

  void abort(int code) override {
    throw Error("", "rank " + std::to_string(rank_) + " aborted with code " + std::to_string(code));
  }

  void set_timeout(double seconds) override { timeout_s_ = seconds; }

 protected:
  void sum_over_ranks(float* data, int64_t count) override {
    meeting_.show(rank_, data);
    meeting_.wait(rank_, "all_reduce", timeout_s_);
    std::vector<float> sum(static_cast<size_t>(count), 0.0f);
    for (int rank = 0; rank < world_size(); ++rank) {
      const float* part = static_cast<const float*>(meeting_.shown(rank));
      for (int64_t i = 0; i < count; ++i) sum[static_cast<size_t>(i)] += part[i];
    }
    meeting_.wait(rank_, "all_reduce", timeout_s_);
    std::memcpy(data, sum.data(), sum.size() * sizeof(float));
  }

  void gather_from_ranks(const void* in, void* out, int64_t size_bytes) override {
    meeting_.show(rank_, in);
    meeting_.wait(rank_, "all_gather", timeout_s_);
    for (int rank = 0; rank < world_size(); ++rank)
      std::memcpy(static_cast<char*>(out) + rank * size_bytes, meeting_.shown(rank), static_cast<size_t>(size_bytes));
    meeting_.wait(rank_, "all_gather", timeout_s_);
  }

 private:
  Meeting& meeting_;
  int rank_;
  double timeout_s_;
};

}  // namespace

void run_ranks(int world_size, const std::function<void(Communicator&)>& rank_main, double timeout_s) {
  Meeting meeting(world_size);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < world_size; ++rank) {
      threads.emplace_back([&, rank] {
        InprocCommunicator communicator(meeting, rank, timeout_s);
        try {
          rank_main(communicator);
        } catch (...) {
          meeting.fail(std::current_exception());
        }
      });
    }
  }
  if (meeting.failure()) std::rethrow_exception(meeting.failure());
}

}  // namespace tp
