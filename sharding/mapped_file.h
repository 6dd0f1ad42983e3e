#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace tp {

// A file mapped read-only. Nothing is read until it is touched, and no more than what is touched.
class MappedFile {
 public:
  // Throws Error{where = path}.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  const std::byte* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }

  // Brings the pages of a range in now / starts to read them / lets go of the whole pages inside it (they can be read again).
  void prefetch(int64_t offset, int64_t size) const;
  void read_ahead(int64_t offset, int64_t size) const;
  void release(int64_t offset, int64_t size) const;

 private:
  std::byte* data_ = nullptr;
  int64_t size_bytes_ = 0;
};

}  // namespace tp
