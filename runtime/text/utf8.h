#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tp {

inline constexpr char32_t kReplacement = 0xFFFD;

// The code point that starts at `at` of valid UTF-8 and its length in bytes.
struct CodePoint {
  char32_t value;
  size_t size_bytes;
};
CodePoint code_point_at(std::string_view text, size_t at);
// The code point that ends before `end` (> 0) of valid UTF-8.
CodePoint code_point_before(std::string_view text, size_t end);

void append_utf8(std::string& text, char32_t code_point);

// Turns bytes that arrive in parts into whole characters. Each maximal part of a broken sequence becomes one U+FFFD
// (Unicode 16, 3.9, "U+FFFD Substitution of Maximal Subparts"; what Rust and Python do).
class Utf8Assembler {
 public:
  // Appends to `out` every character that is complete.
  void push(std::string_view bytes, std::string& out);
  // The incomplete rest, as U+FFFD.
  void finish(std::string& out);

 private:
  std::string pending_;  // fewer than 4 bytes: the start of a character
};

// `text` with broken bytes as U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace tp
