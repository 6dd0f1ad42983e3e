#include "runtime/output_file.h"

#include <cerrno>
#include <cstring>

#include "sharding/error.h"

namespace tp {

OutputFile::OutputFile(const std::string& path)
    : path_(path.empty() ? "stdout" : path), file_(path.empty() ? stdout : std::fopen(path.c_str(), "wb")) {
  if (file_ == nullptr) throw Error(path_, std::string("cannot open for writing: ") + std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (file_ != stdout) std::fclose(file_);
}

void OutputFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() && std::fflush(file_) == 0) return;
  throw Error(path_, std::string("cannot write: ") + std::strerror(errno));
}

}  // namespace tp
