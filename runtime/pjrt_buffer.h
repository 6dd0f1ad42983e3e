#pragma once

#include <cstdint>
#include <memory>
#include <vector>

struct PJRT_Buffer;

namespace tp {

class PjrtClient;

// An array on a device. Owned: destroyed with the object, whether or not an execution consumed (donated) its memory.
class PjrtBuffer {
 public:
  PjrtBuffer() = default;
  PjrtBuffer(std::shared_ptr<const PjrtClient> client, PJRT_Buffer* buffer) : client_(std::move(client)), buffer_(buffer) {}
  PjrtBuffer(PjrtBuffer&& other) noexcept;
  PjrtBuffer& operator=(PjrtBuffer&& other) noexcept;
  ~PjrtBuffer();

  explicit operator bool() const { return buffer_ != nullptr; }
  PJRT_Buffer* get() const { return buffer_; }
  std::vector<int64_t> shape() const;
  // True once an execution took the memory for an output of its own.
  bool consumed() const;
  // Copies the elements, row-major, into `data` of exactly `size_bytes`. Throws Error if the sizes differ.
  void to_host(void* data, int64_t size_bytes) const;

 private:
  void destroy() noexcept;

  std::shared_ptr<const PjrtClient> client_;
  PJRT_Buffer* buffer_ = nullptr;
};

}  // namespace tp
