#pragma once

#include <string>

namespace tp {

// Writes a file that an option names. Throws Error{where = option}.
void write_file(const std::string& option, const std::string& path, const std::string& text);

}  // namespace tp
