#include "launcher/write_file.h"

#include <fstream>

#include "sharding/error.h"

namespace tp {

void write_file(const std::string& option, const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  if (!(file << text).flush()) throw Error(option, path + " cannot be written", "name a file in a directory that can");
}

}  // namespace tp
