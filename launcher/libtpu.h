#pragma once

#include <string>
#include <vector>

namespace tp {

// Patterns of the files that `pip install libtpu` may have left, in the order in which they are tried: the active venv, the
// project's own, the user's packages, the system's.
std::vector<std::string> libtpu_places();

// Path of libtpu.so: TPU_LIBRARY_PATH, else the first that a pattern of libtpu_places() matches. Throws Error, with all that
// was looked for, when there is none.
std::string find_libtpu();

// Version of a libtpu.so as pip notes it beside the package ("0.0.52"); empty for another plugin or where nothing tells.
std::string libtpu_version(const std::string& path);

// What find_libtpu finds or what it says, in one line: for who looks for chips.
std::string describe_libtpu();

}  // namespace tp
