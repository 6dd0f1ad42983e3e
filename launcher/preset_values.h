#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

using Environment = std::map<std::string, std::string>;

// The value of a variable that is set to something.
std::optional<std::string> preset_text(const Environment& preset, const std::string& name);
// Throws Error when it is not a whole number.
std::optional<int> preset_number(const Environment& preset, const std::string& name);

// nullopt unless it is digits alone.
std::optional<int> whole_number(const std::string& text);
// "a,,b" -> "a", "", "b"
std::vector<std::string> comma_list(const std::string& text);

// May be the name or the address of a host: it is not empty, begins with no dash and has no blank, comma, quote or slash.
bool is_host(std::string_view text);

}  // namespace tp
