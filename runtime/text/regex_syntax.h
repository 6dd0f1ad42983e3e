#pragma once

#include <string>
#include <string_view>

namespace tp {

// A pattern of Oniguruma (the syntax of a tokenizer.json) as one of PCRE2 with UTF, UCP and MULTILINE that matches the same.
// What differs and is translated: character classes nest and intersect, \w \s \d \b \h and POSIX brackets have Unicode's
// meaning, properties know the characters of Unicode 16, (?m) lets the dot match line ends, `{1,3}+` repeats the interval.
// Throws std::invalid_argument("... at offset N") for a construct that it does not know.
std::string pcre2_pattern(std::string_view oniguruma);

// A pattern that matches `text` literally.
std::string literal_pattern(std::string_view text);

}  // namespace tp
