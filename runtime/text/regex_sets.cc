#include "runtime/text/regex_sets.h"

#include <cctype>
#include <cstdio>
#include <map>

#include "runtime/text/unicode_tables.h"

namespace tp {
namespace {

// The inside of a PCRE2 class: what follows is the same set on any side of `[^`.
constexpr char kSpaceItems[] = R"(\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr char kHexItems[] = "0-9a-fA-F";

// Items for the characters of a general category that PCRE2 may not know yet.
std::string new_characters(std::string_view category) {
  std::string items;
  for (const NewCharacters& added : kNewCharacters) {
    if (!added.category.starts_with(category)) continue;
    for (const CharacterRange& range : added.characters) {
      items += escaped_character(range.first);
      if (range.last != range.first) items += "-" + escaped_character(range.last);
    }
  }
  return items;
}

}  // namespace

std::string escaped_character(char32_t c) {
  char text[16];
  std::snprintf(text, sizeof text, "\\x{%x}", static_cast<unsigned>(c));
  return text;
}

std::string space_items() {
  return kSpaceItems;
}
std::string hex_items() {
  return kHexItems;
}

std::string category_items(const std::string& category) {
  return "\\p{" + category + "}" + new_characters(category);
}

// Letters, marks, decimal and letter numbers, connectors and other alphabetic characters.
std::string word_items() {
  return category_items("L") + category_items("M") + category_items("Nd") + category_items("Nl") + category_items("Pc") +
         R"(\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
}

std::string latin1_word_items() {
  return R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
}

std::string property_items(const std::string& name) {
  static const std::map<std::string, std::string> kLongNames = {{"letter", "l"},
                                                                {"uppercaseletter", "lu"},
                                                                {"lowercaseletter", "ll"},
                                                                {"titlecaseletter", "lt"},
                                                                {"modifierletter", "lm"},
                                                                {"otherletter", "lo"},
                                                                {"mark", "m"},
                                                                {"nonspacingmark", "mn"},
                                                                {"spacingmark", "mc"},
                                                                {"enclosingmark", "me"},
                                                                {"number", "n"},
                                                                {"decimalnumber", "nd"},
                                                                {"letternumber", "nl"},
                                                                {"othernumber", "no"},
                                                                {"punctuation", "p"},
                                                                {"symbol", "s"},
                                                                {"mathsymbol", "sm"},
                                                                {"currencysymbol", "sc"},
                                                                {"modifiersymbol", "sk"},
                                                                {"othersymbol", "so"},
                                                                {"separator", "z"},
                                                                {"spaceseparator", "zs"},
                                                                {"other", "c"},
                                                                {"control", "cc"},
                                                                {"format", "cf"}};
  static const std::map<std::string, std::string> kPosix = {
      {"alpha", "\\p{Alphabetic}" + new_characters("L") + new_characters("Mc")},
      {"upper", "\\p{Uppercase}"},
      {"lower", "\\p{Lowercase}"},
      {"space", kSpaceItems},
      {"blank", "\\x09\\p{Zs}"},
      {"cntrl", "\\p{Cc}"},
      {"xdigit", kHexItems},
      {"ascii", "\\x00-\\x7f"}};
  if (name == "any") return "\\x{0}-\\x{10ffff}";
  if (name == "digit") return category_items("Nd");
  if (name == "word") return word_items();
  if (name == "punct") return category_items("P") + category_items("S");
  if (name == "alnum") return property_items("alpha") + category_items("Nd");
  if (const auto posix = kPosix.find(name); posix != kPosix.end()) return posix->second;
  const auto long_name = kLongNames.find(name);
  std::string category = long_name == kLongNames.end() ? name : long_name->second;
  if (std::string_view("lmnpsz").find(category[0]) != std::string_view::npos && category.size() <= 2) {
    category[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(category[0])));
    return category_items(category);
  }
  if (category == "cc" || category == "cf" || category == "co") return "\\p{C" + category.substr(1) + "}";
  if (name == "han") return "\\p{sc:Han}\\x{2ebf0}-\\x{2ee5d}\\x{31350}-\\x{323af}";
  if (name.size() > 2) return "\\p{sc:" + name + "}";  // PCRE2 refuses a script that it does not know
  return "";
}

void ClassSet::add(const std::string& set_items, bool negated) {
  if (negated) {
    parts.push_back("[^" + set_items + "]");
  } else {
    items += set_items;
  }
}
std::string ClassSet::expression(bool negated) const {
  if (parts.empty()) {
    if (items.empty()) return negated ? "(?s:.)" : "(?!)";
    return (negated ? "[^" : "[") + items + "]";
  }
  std::string any = items.empty() ? "" : "[" + items + "]";
  for (const std::string& part : parts) any += (any.empty() ? "" : "|") + part;
  return negated ? "(?:(?!" + any + ")(?s:.))" : "(?:" + any + ")";
}

}  // namespace tp
