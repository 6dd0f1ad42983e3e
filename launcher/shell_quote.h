#pragma once

#include <string>
#include <vector>

namespace tp {

// `text` as one word of a POSIX shell, quoted only where that is needed.
std::string shell_quoted(const std::string& text);
// Words joined into a command line that a shell splits into the same words.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace tp
