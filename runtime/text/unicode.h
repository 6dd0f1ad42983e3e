#pragma once

#include <string>
#include <string_view>

#include "runtime/text/unicode_tables.h"

namespace tp {

bool contains(CharacterSet set, char32_t c);

bool is_whitespace(char32_t c);  // White_Space, Rust's char::is_whitespace and \s of its regex
inline bool is_numeric(char32_t c) {
  return contains(kNumeric, c);
}
inline bool is_punctuation(char32_t c) {
  return contains(kPunctuation, c);
}
inline bool is_word(char32_t c) {
  return contains(kWord, c);
}

// Lower case of one character, without context (İ becomes i and a dot above).
void append_lowercase(std::string& text, char32_t c);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// `text` (valid UTF-8) in a normalization form of Unicode, as `tokenizers` does it: characters newer than its tables stay.
std::string normalized(std::string_view text, NormalForm form);

}  // namespace tp
