#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "runtime/pjrt_call.h"
#include "tests/fake_slice/slice_message.h"

namespace tp::fake_slice {

// The buffers of this rank, numbered so that peers can be told about them, and copies of the peers' buffers. Buffers never
// change, so each is sent to a peer once: weights cross at the first execution, and a program's outputs, which every rank
// computes for all ranks, never.
class SliceBuffers {
 public:
  SliceBuffers(const PjrtPlugin& plugin, int64_t memory_bytes) : plugin_(plugin), memory_bytes_(memory_bytes) {}

  // Counts a new buffer of this rank against the memory limit. Throws SliceError RESOURCE_EXHAUSTED if it is too much.
  void count(PJRT_Buffer* buffer);
  // To be called before this rank destroys a buffer.
  void forget(PJRT_Buffer* buffer);
  // Memory of buffers that an execution consumed is free again.
  void uncount_consumed(PJRT_Buffer* const* buffers, size_t size);

  // Numbers for outputs to come; each is then given to its buffer.
  uint64_t reserve(size_t count);
  void number_output(PJRT_Buffer* buffer, uint64_t id, const std::vector<int>& known_by);

  // What to tell `peer` of an argument, marking it as known there.
  ArgumentMessage describe(PJRT_Buffer* buffer, int peer);
  std::vector<uint64_t> take_forgotten(int peer);

  // The copy that stands for a peer's buffer, made on `device` if the message brings its elements.
  PJRT_Buffer* copy_of(int peer, const ArgumentMessage& argument, PJRT_Client* client, PJRT_Device* device);
  void keep_copy(int peer, uint64_t id, PJRT_Buffer* buffer);
  void drop_copies(int peer, const std::vector<uint64_t>& ids);
  void drop_all_copies();

 private:
  struct Owned {
    uint64_t id = 0;  // 0: not numbered yet
    std::set<int> known_by;
    int64_t counted_bytes = 0;
  };

  Owned& owned(PJRT_Buffer* buffer);
  void destroy(PJRT_Buffer* buffer);

  const PjrtPlugin& plugin_;
  int64_t memory_bytes_;
  int64_t used_bytes_ = 0;
  uint64_t next_id_ = 1;
  std::map<PJRT_Buffer*, Owned> owned_;
  std::map<int, std::vector<uint64_t>> forgotten_;          // by peer
  std::map<int, std::map<uint64_t, PJRT_Buffer*>> copies_;  // by peer and number
};

}  // namespace tp::fake_slice
