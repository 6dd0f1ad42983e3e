#pragma once

#include <filesystem>

namespace tp {

// The folder of the default plans, found from where the running program lies: share/tprun/plans of the installed tree, else
// the plans/ of the source tree that a build folder is in. Throws Error when there is neither.
std::filesystem::path plans_dir();

// The same for a program at `executable`.
std::filesystem::path plans_dir_of(const std::filesystem::path& executable);

}  // namespace tp
