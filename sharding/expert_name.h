#pragma once

#include <cstdint>
#include <string>

namespace tp {

// The name of one expert's tensor: `pattern` (ModuleSpec::per_expert) with its number for the "*".
inline std::string expert_name(const std::string& pattern, int64_t expert) {
  const size_t star = pattern.find('*');
  return pattern.substr(0, star) + std::to_string(expert) + pattern.substr(star + 1);
}

}  // namespace tp
