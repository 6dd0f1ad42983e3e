#include "runtime/cpu/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "sharding/error.h"

namespace tp::cpu {
namespace {

constexpr int64_t kCacheLine = 64, kHugePage = int64_t{2} << 20;

int64_t round_up(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

Buffer::Buffer(int64_t size_bytes) : size_bytes_(size_bytes) {
  if (size_bytes <= 0) return;
  const int64_t alignment = size_bytes >= kHugePage ? kHugePage : kCacheLine;
  void* memory = std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(round_up(size_bytes, kCacheLine)));
  if (memory == nullptr) {
    throw Error("memory", "cannot allocate " + std::to_string(size_bytes) + " bytes", "use more ranks or a smaller model");
  }
  // Only advice: where huge pages are switched off the buffer works all the same. Rounded down, so that the tail of the last
  // huge page does not become memory that nobody asked for.
  if (alignment == kHugePage) madvise(memory, static_cast<size_t>(size_bytes / kHugePage * kHugePage), MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(memory);
}

Buffer::~Buffer() {
  if (owned_) std::free(data_);
}

Buffer Buffer::view(std::byte* data, int64_t size_bytes) {
  Buffer buffer;
  buffer.data_ = data;
  buffer.size_bytes_ = size_bytes;
  buffer.owned_ = false;
  return buffer;
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)), owned_(other.owned_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(owned_, other.owned_);
  return *this;
}

void Buffer::reserve(int64_t size_bytes) {
  if (size_bytes > size_bytes_) *this = Buffer(size_bytes);
}

}  // namespace tp::cpu
