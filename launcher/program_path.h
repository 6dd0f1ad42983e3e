#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tp {

// The executable that a shell would run for `name`; nullopt when there is none.
std::optional<std::filesystem::path> find_program(const std::string& name);

// One of the project's own programs (`tprun-exec`, `tprun-rank`): beside the running executable, or where the build tree has
// it. Throws Error when it is missing.
std::filesystem::path own_program(const std::string& name);

// plans/ of this installation: share/tprun/plans beside bin/, or the source tree's when run from the build tree.
std::filesystem::path plans_directory();

}  // namespace tp
