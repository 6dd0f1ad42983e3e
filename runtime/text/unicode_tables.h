#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tp {

// Code points first..last; a set is sorted and its ranges do not touch.
struct CharacterRange {
  uint32_t first, last;
};
using CharacterSet = std::span<const CharacterRange>;

extern const CharacterSet kNumeric;         // general category N, Rust's char::is_numeric
extern const CharacterSet kPunctuation;     // ASCII punctuation and P of the Unicode of the crate unicode_categories
extern const CharacterSet kWord;            // \w of Rust's regex
extern const CharacterSet kCombiningMark;   // M, for StripAccents
extern const CharacterSet kNonspacingMark;  // Mn, for BertNormalizer
extern const CharacterSet kControl;         // Cc, Cf, Co without tab and line ends, for BertNormalizer
extern const CharacterSet kNotNormalized;   // characters that no normalization form changes, see make_unicode_tables.py

// What Unicode 15 and 16 added to a general category. PCRE2 10.42 has Unicode 14.
struct NewCharacters {
  std::string_view category;
  CharacterSet characters;
};
extern const std::span<const NewCharacters> kNewCharacters;

}  // namespace tp
