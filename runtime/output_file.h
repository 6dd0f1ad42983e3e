#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace tp {

// Where results go: a file, or stdout. Every write is flushed, so that what was produced is out when a process is killed.
class OutputFile {
 public:
  // Empty = stdout. Throws Error{where = path}.
  explicit OutputFile(const std::string& path);
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
