#include "runtime/cpu/huge_pages.h"

#include <algorithm>

namespace tp::cpu {
namespace {

constexpr int64_t kCacheLine = 64;
// What is not used of it never becomes memory, but for the rest of one huge page.
constexpr int64_t kBlockBytes = int64_t{64} << 20;

}  // namespace

Buffer HugePages::take(int64_t size_bytes) {
  if (size_bytes <= 0) return {};
  if (blocks_.empty() || used_bytes_ + size_bytes > blocks_.back().size_bytes()) {
    blocks_.emplace_back(std::max(size_bytes, kBlockBytes));
    used_bytes_ = 0;
  }
  std::byte* data = blocks_.back().data() + used_bytes_;
  used_bytes_ += (size_bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  return Buffer::view(data, size_bytes);
}

}  // namespace tp::cpu
