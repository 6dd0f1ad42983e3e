#include "tests/runtime/golden_case.h"

#include <cstring>

namespace tp {

GoldenCase::GoldenCase(const std::filesystem::path& dir)
    : dir_(dir),
      entries_(read_safetensors_header(dir / "golden.safetensors")),
      file_(std::make_shared<MappedFile>(dir / "golden.safetensors")) {}

std::vector<float> GoldenCase::floats(const std::string& tensor) const {
  const TensorEntry& entry = entries_.at(tensor);
  std::vector<float> values(static_cast<size_t>(entry.size_bytes) / sizeof(float));
  std::memcpy(values.data(), file_->data() + entry.offset, values.size() * sizeof(float));
  return values;
}

std::vector<int32_t> GoldenCase::ids(const std::string& tensor) const {
  const TensorEntry& entry = entries_.at(tensor);
  std::vector<int64_t> values(static_cast<size_t>(entry.size_bytes) / sizeof(int64_t));
  std::memcpy(values.data(), file_->data() + entry.offset, values.size() * sizeof(int64_t));
  return {values.begin(), values.end()};
}

std::vector<std::filesystem::path> golden_cases() {
  const std::filesystem::path root = TPRUN_SOURCE_DIR;
  std::map<std::string, std::filesystem::path> cases;
  for (const auto& folder : {root / "tests/golden/models", root / "../shared/goldens/models"}) {
    std::error_code code;
    for (const auto& entry : std::filesystem::directory_iterator(folder, code))
      if (std::filesystem::exists(entry.path() / "golden.safetensors")) cases[entry.path().filename()] = entry.path();
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& [name, path] : cases) paths.push_back(path);
  return paths;
}

}  // namespace tp
