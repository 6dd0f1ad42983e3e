#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tp {

// build/ of a kernel from the Hub, as kernel-builder and its `kernels` write it, around a library of this directory
// ("returns", "writes", … of CMakeLists.txt). Gives the package's directory.
std::filesystem::path operator_package(const std::filesystem::path& dir, const std::string& kind,
                                       const std::string& variant = "");
// torch213-cxx11-cpu-x86_64-linux: of the torch that tprun is linked to, `minor_step` minor versions later, on this CPU.
std::string torch_variant(int minor_step = 0);
// Of the operators in the library `kind`.
std::string operator_namespace(const std::string& kind);

}  // namespace tp
