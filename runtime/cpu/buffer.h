#pragma once

#include <cstddef>
#include <cstdint>

namespace tp::cpu {

// Uninitialized memory that starts on a cache line, and from 2 MiB on a huge page (which the system is asked for: weights are
// streamed, so every small page would cost a miss of the TLB). Move-only.
class Buffer {
 public:
  Buffer() = default;
  // Throws Error when there is not enough memory.
  explicit Buffer(int64_t size_bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }

  // Memory that somebody else owns (huge_pages.h) and that must outlive the buffer.
  static Buffer view(std::byte* data, int64_t size_bytes);

  // Makes room for at least `size_bytes`; what it held is lost.
  void reserve(int64_t size_bytes);

 private:
  std::byte* data_ = nullptr;
  int64_t size_bytes_ = 0;
  bool owned_ = true;
};

}  // namespace tp::cpu
