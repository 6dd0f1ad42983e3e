#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tp {

// Shared memory through which the ranks of one host exchange vectors. It has no name in the file system, so nothing is left
// behind when a rank dies: others open it through /proc while its maker lives, and it goes with the last process that maps it.
class ShmSegment {
 public:
  // Throws Error for what the system refuses.
  static ShmSegment create(int world_size);
  // Opens the segment that `address()` of another process of this host describes. Throws Error when that is not possible
  // (another host, another process namespace) or the address leads to something else.
  static ShmSegment open(const std::string& address, int world_size);
  ShmSegment(ShmSegment&& other) noexcept;
  ShmSegment& operator=(ShmSegment&& other) noexcept;
  ~ShmSegment();

  std::string address() const;
  // After that it can no longer be opened; it lives on where it is mapped.
  void close_address();

 private:
  friend class ShmExchange;
  struct Header;
  struct Mark;

  ShmSegment(int fd, int world_size);
  Header& header() const;
  Mark& mark(int rank) const;
  std::byte* slot(int rank, uint32_t step) const;
  float* sums() const;
  bool claim_failure() const;

  int fd_ = -1;
  int world_size_ = 0;
  size_t size_bytes_ = 0;
  std::byte* memory_ = nullptr;
};

// One rank's end of a segment. All ranks make the same calls in the same order. A step of the protocol is: write my slot, post
// the step's number, wait until all have posted it, read the slots. Slots alternate between two halves, so a step needs one
// wait only: who writes for step s has seen everybody post s - 1, hence be done with reading s - 2.
//
// Waiting spins for a moment, then sleeps on a futex; where there are more ranks than cores it sleeps at once, so that they do
// not starve each other. A wait longer than the timeout (0 = none) throws Error that names the operation and the ranks that did
// not come; a wait for a rank whose process is gone throws at once.
class ShmExchange {
 public:
  ShmExchange(ShmSegment segment, int rank, int world_size, double timeout_s);

  // data[i] = sum over the ranks, in rank order, the same bits everywhere.
  void all_reduce_sum(float* data, int64_t count);
  // out[r * size_bytes ...] = rank r's `in`.
  void all_gather(const void* in, void* out, int64_t size_bytes, const char* operation = "all_gather");
  void broadcast(void* data, int64_t size_bytes, int root);
  void barrier() { step("barrier"); }
  void set_timeout(double seconds) { timeout_s_ = seconds; }
  // True for the first rank that calls it.
  bool first_to_fail() { return segment_.claim_failure(); }

 private:
  // Posts the next step and waits for everybody.
  void step(const char* operation);
  void wait_for(int rank, const char* operation);
  std::string missing() const;
  bool posted(int rank) const;
  void sum_slots(uint32_t step, int64_t begin, int64_t end, float* out) const;
  void sum_whole(float* data, int64_t count);
  void sum_by_parts(float* data, int64_t count);

  ShmSegment segment_;
  int rank_, world_size_;
  double timeout_s_;
  std::chrono::microseconds spin_for_;
  uint32_t step_ = 0;
};

}  // namespace tp
