#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sharding/mapped_file.h"
#include "sharding/safetensors.h"

namespace tp {

// A tiny checkpoint with reference results (tests/golden/README.md): golden.safetensors by tensor name.
class GoldenCase {
 public:
  explicit GoldenCase(const std::filesystem::path& dir);

  std::string name() const { return dir_.filename().string(); }
  const std::filesystem::path& dir() const { return dir_; }
  bool has(const std::string& tensor) const { return entries_.contains(tensor); }
  const std::vector<int64_t>& shape(const std::string& tensor) const { return entries_.at(tensor).shape; }
  std::vector<float> floats(const std::string& tensor) const;
  std::vector<int32_t> ids(const std::string& tensor) const;  // stored as int64

 private:
  std::filesystem::path dir_;
  std::map<std::string, TensorEntry> entries_;
  std::shared_ptr<const MappedFile> file_;
};

// The committed cases and, where they are, all of those beside the project; by name, each once.
std::vector<std::filesystem::path> golden_cases();

}  // namespace tp
