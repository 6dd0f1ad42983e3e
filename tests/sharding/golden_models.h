#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace tp {

// The tiny reference checkpoints beside the project; empty when they are not there.
inline std::vector<std::filesystem::path> golden_models() {
  const std::filesystem::path root = std::filesystem::path(TPRUN_SOURCE_DIR) / ".." / "shared" / "goldens" / "models";
  std::vector<std::filesystem::path> dirs;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(root, code)) {
    if (entry.is_directory()) dirs.push_back(entry.path());
  }
  std::sort(dirs.begin(), dirs.end());
  return dirs;
}

}  // namespace tp
