#pragma once

#include <string>

namespace tp::jinja {

// Python's str.upper(), lower(), title() and capitalize().
std::string upper(const std::string& text);
std::string lower(const std::string& text);
std::string title(const std::string& text);
std::string capitalize(const std::string& text);

}  // namespace tp::jinja
