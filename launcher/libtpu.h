#pragma once

#include <string>

namespace tp {

// Path of libtpu.so: TPU_LIBRARY_PATH, else the one that the build found in the project's venv. Throws Error when there is
// none.
std::string find_libtpu();

}  // namespace tp
