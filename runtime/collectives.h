#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace tp {

// How often an operation ran and how many payload bytes it carried on this rank.
struct CollectiveCount {
  int64_t count = 0;
  int64_t bytes = 0;
};

// The ranks of one job, one object per rank. Calls are collective: all ranks make the same ones in the same order. Every wait
// is bounded by `timeout`; one that runs out throws Error naming the operation and, where known, the missing ranks. Counts are
// kept per operation name for --stats: "all_reduce", "all_gather"; control messages (broadcast, barrier) are not counted.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // In place: data[i] = sum over the ranks, the same bits on every rank.
  virtual void all_reduce_sum(float* data, int64_t count) = 0;
  // out[r * size_bytes ...] = rank r's `in`.
  virtual void all_gather(const void* in, void* out, int64_t size_bytes) = 0;
  virtual void broadcast(void* data, int64_t size_bytes, int root) = 0;
  virtual void barrier() = 0;
  // Ends the whole job with `code`; does not return. Other ranks are not left waiting.
  [[noreturn]] virtual void abort(int code) = 0;

  const std::map<std::string, CollectiveCount>& counts() const { return counts_; }
  void reset_counts() { counts_.clear(); }

 protected:
  std::map<std::string, CollectiveCount> counts_;
};

}  // namespace tp
