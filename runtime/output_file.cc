#include "runtime/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sharding/error.h"

namespace tp {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw Error(path, std::string(what) + ": " + std::strerror(errno));
}

std::FILE* open_output(const std::string& path, int64_t kept_bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) fail(path, "cannot open for writing");
  std::FILE* file = fdopen(fd, "wb");
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return file;
  // Of two runs the second would write into the middle of what the first one writes.
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    std::fclose(file);
    throw Error(path, "is being written by another run", "name another file, or end that run");
  }
  if (ftruncate(fd, kept_bytes) != 0 || lseek(fd, 0, SEEK_END) < 0) {
    std::fclose(file);
    fail(path, "cannot be cut to what is kept of it");
  }
  return file;
}

}  // namespace

OutputFile::OutputFile(const std::string& path, int64_t kept_bytes)
    : path_(path.empty() ? "stdout" : path), file_(path.empty() ? stdout : open_output(path, kept_bytes)) {}

OutputFile::~OutputFile() {
  if (file_ != stdout) std::fclose(file_);
}

void OutputFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() && std::fflush(file_) == 0) return;
  fail(path_, "cannot write");
}

}  // namespace tp
