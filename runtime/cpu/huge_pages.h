#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cpu/buffer.h"

namespace tp::cpu {

// Buffers side by side on huge pages. Most weights of a small model are smaller than a huge page; on small pages of their own
// each would cost a walk of the page table, and a new start of the processor's prefetching, for every 4 KiB. Move-only; the
// memory goes back all at once, when the object ends.
class HugePages {
 public:
  // Uninitialized, on a cache line, for as long as this object lives. Throws Error when there is not enough memory.
  Buffer take(int64_t size_bytes);

 private:
  std::vector<Buffer> blocks_;
  int64_t used_bytes_ = 0;  // of the last block
};

}  // namespace tp::cpu
