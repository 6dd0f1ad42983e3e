#include "launcher/preset_values.h"

#include <algorithm>
#include <charconv>

#include "sharding/error.h"

namespace tp {

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::vector<std::string> comma_list(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool is_host(std::string_view text) {
  constexpr std::string_view kNever = ",;/'\"`$\\(){}";
  const auto never = [&](unsigned char c) {
    return c <= ' ' || c == 0x7f || kNever.find(static_cast<char>(c)) != std::string_view::npos;
  };
  return !text.empty() && text[0] != '-' && std::none_of(text.begin(), text.end(), never);
}

std::optional<std::string> preset_text(const Environment& preset, const std::string& name) {
  const auto value = preset.find(name);
  return value == preset.end() || value->second.empty() ? std::nullopt : std::optional<std::string>(value->second);
}

std::optional<int> preset_number(const Environment& preset, const std::string& name) {
  const auto text = preset_text(preset, name);
  if (!text) return std::nullopt;
  const auto number = whole_number(*text);
  if (!number) throw Error(name, "`" + *text + "` is not a whole number", "unset it, or set it right");
  return number;
}

}  // namespace tp
