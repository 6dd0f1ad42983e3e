#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tp {

// Sets of characters as the inside of a PCRE2 class: the same set behind `[` and, negated, behind `[^`. They know the
// characters of Unicode 16, whatever PCRE2 knows.

std::string escaped_character(char32_t c);  // \x{…}
std::string space_items();                  // \s of Oniguruma
std::string hex_items();                    // \h
std::string word_items();                   // \w inside of a class
std::string latin1_word_items();            // what \w and \b take for a word besides, outside of one: ² ³ ¹ ¼ ½ ¾
std::string category_items(const std::string& category);  // general category "L", "Lu", …

// A property by Oniguruma's name in lower case without spaces, `_` and `-`: a general category, a POSIX bracket or a script.
// Empty for a name that cannot be one; PCRE2 refuses a script that it does not know.
std::string property_items(const std::string& name);

// The set that a class stands for. Items can be negated in place; parts (classes inside, complements) are PCRE2 expressions of
// one character each.
struct ClassSet {
  std::string items;
  std::vector<std::string> parts;

  void add(const std::string& set_items, bool negated);
  std::string expression(bool negated) const;  // a PCRE2 expression of one character
};

}  // namespace tp
