#include "runtime/text/byte_tokens.h"

#include <algorithm>

namespace tp {

std::string byte_token(unsigned char byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">";
}

std::optional<unsigned char> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  std::string_view digits = token.substr(3, 2);
  if (digits[0] == '+') digits.remove_prefix(1);  // Rust's from_str_radix takes a sign
  int value = 0;
  for (const char c : digits) {
    const bool lower = c >= 'a' && c <= 'f', upper = c >= 'A' && c <= 'F';
    if (!lower && !upper && (c < '0' || c > '9')) return std::nullopt;
    value = value * 16 + (lower ? c - 'a' + 10 : upper ? c - 'A' + 10 : c - '0');
  }
  return static_cast<unsigned char>(value);
}

bool append_byte_tokens(const ByteTokenIds& bytes, std::string_view text, std::vector<int32_t>& ids) {
  const auto id = [&](char c) { return bytes[static_cast<unsigned char>(c)]; };
  if (std::any_of(text.begin(), text.end(), [&](char c) { return id(c) < 0; })) return false;
  for (const char c : text) ids.push_back(id(c));
  return true;
}

}  // namespace tp
