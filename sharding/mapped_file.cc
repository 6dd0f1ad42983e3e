#include "sharding/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sharding/error.h"

namespace tp {
namespace {

int64_t page_size() {
  static const int64_t size = sysconf(_SC_PAGESIZE);
  return size;
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw Error(path, std::string("cannot open: ") + std::strerror(errno), "make it readable");
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || status.st_size == 0) {
    close(descriptor);
    throw Error(path, "the file is empty or cannot be examined", "get it again");
  }
  size_bytes_ = status.st_size;
  void* mapped = mmap(nullptr, static_cast<size_t>(size_bytes_), PROT_READ, MAP_SHARED, descriptor, 0);
  const int code = errno;
  close(descriptor);
  if (mapped == MAP_FAILED) throw Error(path, std::string("cannot map the file: ") + std::strerror(code));
  data_ = static_cast<std::byte*>(mapped);
  // Without this the kernel reads ahead into the slices of other ranks.
  madvise(mapped, static_cast<size_t>(size_bytes_), MADV_RANDOM);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(size_bytes_));
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

void MappedFile::prefetch(int64_t offset, int64_t size) const {
  const int64_t begin = offset / page_size() * page_size();
#ifdef MADV_POPULATE_READ
  if (madvise(data_ + begin, static_cast<size_t>(offset + size - begin), MADV_POPULATE_READ) == 0) return;
#endif
  // Older kernels: the pages are mapped when they are first used.
  read_ahead(offset, size);
}

void MappedFile::read_ahead(int64_t offset, int64_t size) const {
  const int64_t begin = offset / page_size() * page_size();
  madvise(data_ + begin, static_cast<size_t>(offset + size - begin), MADV_WILLNEED);
}

void MappedFile::release(int64_t offset, int64_t size) const {
  const int64_t begin = (offset + page_size() - 1) / page_size() * page_size();
  const int64_t end = (offset + size) / page_size() * page_size();
  if (end > begin) madvise(data_ + begin, static_cast<size_t>(end - begin), MADV_DONTNEED);
}

}  // namespace tp
