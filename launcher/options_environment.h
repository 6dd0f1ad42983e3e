#pragma once

#include <map>
#include <optional>
#include <string>

namespace tp {

// The readers of the environment; nothing else in the launcher calls getenv.
std::optional<std::string> environment(const char* name);  // nullopt when the variable is not set
std::map<std::string, std::string> whole_environment();

}  // namespace tp
