#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/timeline.h"

namespace tp {

// How often an operation ran on this rank, how many payload bytes it carried and how long it took, waiting included.
struct CollectiveCount {
  int64_t count = 0;
  int64_t bytes = 0;
  double seconds = 0;
};

// The ranks of one job, one object per rank. Calls are collective: all ranks make the same ones in the same order. Every wait
// is bounded by the timeout; one that runs out throws Error naming the operation and, where known, the missing ranks. Counts
// are kept per operation name for --stats: "all_reduce", "all_gather"; control messages are not counted.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // --- the model's own ---
  // In place: data[i] = sum over the ranks in rank order, the same bits on every rank.
  void all_reduce_sum(float* data, int64_t count);
  // out[r * size_bytes ...] = rank r's `in`.
  void all_gather(const void* in, void* out, int64_t size_bytes);

  // --- control messages ---
  virtual void broadcast(void* data, int64_t size_bytes, int root) = 0;
  virtual void barrier() = 0;
  // Every rank's `value`, in rank order.
  std::vector<int64_t> collect(int64_t value);
  int64_t max(int64_t value);
  // Every rank's text, in rank order.
  std::vector<std::string> collect(std::string_view text);
  // The text of `root`, on every rank.
  std::string broadcast_text(std::string_view text, int root);

  // Ends the whole job with `code`; does not return. Other ranks are not left waiting.
  [[noreturn]] virtual void abort(int code) = 0;

  // True for the rank whose error is the one to show: the first that asks, as far as the ranks can know. The errors of the
  // others are mostly the same one or follow from it. Not collective.
  virtual bool first_to_fail() { return true; }

  // A wait may last this long; 0 = for ever (a rank that waits for a user).
  virtual void set_timeout(double seconds) = 0;

  const std::map<std::string, CollectiveCount>& counts() const { return counts_; }
  // Every counted operation from now on is also kept there; nullptr ends it.
  void record(Timeline* timeline) { timeline_ = timeline; }
  void reset_counts() { counts_.clear(); }
  // For collectives that the device does by itself, inside a compiled program.
  void add_counts(const std::string& operation, int64_t count, int64_t bytes) {
    counts_[operation].count += count;
    counts_[operation].bytes += bytes;
  }

 protected:
  virtual void sum_over_ranks(float* data, int64_t count) = 0;
  virtual void gather_from_ranks(const void* in, void* out, int64_t size_bytes) = 0;

 private:
  std::map<std::string, CollectiveCount> counts_;
  Timeline* timeline_ = nullptr;
};

}  // namespace tp
