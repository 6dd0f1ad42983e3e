#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace tp {

// Where results go: a file, or stdout. Every write is flushed, so that what was produced is out when a process is killed.
class OutputFile {
 public:
  // Empty path = stdout. The first `kept_bytes` of the file stay, and what is written comes after them. Throws Error{where =
  // path}.
  explicit OutputFile(const std::string& path, int64_t kept_bytes = 0);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Throws Error when the bytes cannot be written (disk full, closed pipe).
  void write(std::string_view bytes);

 private:
  std::string path_;
  std::FILE* file_;
};

}  // namespace tp
