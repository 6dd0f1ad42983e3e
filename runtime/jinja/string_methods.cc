#include "runtime/jinja/string_methods.h"

#include <utf8proc.h>

#include <algorithm>
#include <set>

#include "runtime/jinja/builtins.h"
#include "runtime/jinja/letter_case.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/text_format.h"
#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"

namespace tp::jinja {
namespace {

bool is_space(const std::string& character) {
  const char32_t c = code_point_at(character, 0).value;
  return is_whitespace(c) || (c >= 0x1C && c <= 0x1F);
}

std::string string_argument(const Arguments& arguments, size_t index, const char* name) {
  const Value& value = needed(arguments, index, name);
  if (!value.is_string()) throw Fault{"expected a str, found " + type_name(value)};
  return value.string();
}

Value stripped(const Value& value, const Arguments& arguments, bool left, bool right) {
  const Value set = argument(arguments, 0, "chars", Value());
  std::vector<std::string> characters = characters_of(value.string());
  const auto goes = [&](const std::string& c) {
    return set.is_none() ? is_space(c) : set.string().find(c) != std::string::npos;
  };
  if (!set.is_none() && !set.is_string()) throw Fault{"strip arg must be None or str"};
  size_t begin = 0, end = characters.size();
  while (left && begin < end && goes(characters[begin])) ++begin;
  while (right && end > begin && goes(characters[end - 1])) --end;
  std::string text;
  for (size_t i = begin; i < end; ++i) text += characters[i];
  return text;
}

// Words between white space, at most `most` cuts (-1 = all), counted from the right with `from_right`.
List words(const std::string& text, int64_t most, bool from_right) {
  std::vector<std::string> characters = characters_of(text);
  if (from_right) std::reverse(characters.begin(), characters.end());
  std::vector<std::vector<std::string>> found;
  for (size_t i = 0; i < characters.size();) {
    if (is_space(characters[i])) {
      ++i;
      continue;
    }
    const bool rest = most >= 0 && static_cast<int64_t>(found.size()) == most;
    found.emplace_back();
    while (i < characters.size() && (rest || !is_space(characters[i]))) found.back().push_back(characters[i++]);
    while (rest && !found.back().empty() && is_space(found.back().back())) found.back().pop_back();
  }
  List items;
  for (auto& word : found) {
    if (from_right) std::reverse(word.begin(), word.end());
    std::string joined;
    for (const std::string& c : word) joined += c;
    items.emplace_back(std::move(joined));
  }
  if (from_right) std::reverse(items.begin(), items.end());
  return items;
}

Value split(const Value& value, const Arguments& arguments, bool from_right) {
  const Value separator = argument(arguments, 0, "sep", Value());
  const int64_t most = argument(arguments, 1, "maxsplit", int64_t{-1}).integer();
  const std::string& text = value.string();
  if (separator.is_none()) return words(text, most, from_right);
  const std::string cut = string_argument(arguments, 0, "sep");
  if (cut.empty()) throw Fault{"empty separator"};
  List parts;
  if (from_right) {
    size_t end = text.size();
    while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
      const size_t at = end < cut.size() ? std::string::npos : text.rfind(cut, end - cut.size());
      if (at == std::string::npos) break;
      parts.emplace_back(text.substr(at + cut.size(), end - at - cut.size()));
      end = at;
    }
    parts.emplace_back(text.substr(0, end));
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  size_t start = 0;
  for (size_t at;
       (most < 0 || static_cast<int64_t>(parts.size()) < most) && (at = text.find(cut, start)) != std::string::npos;) {
    parts.emplace_back(text.substr(start, at - start));
    start = at + cut.size();
  }
  parts.emplace_back(text.substr(start));
  return parts;
}

Value splitlines(const Value& value, const Arguments& arguments) {
  const bool keep = truthy(argument(arguments, 0, "keepends", false));
  static const std::set<std::string> kEnds = {"\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\u0085", "\u2028", "\u2029"};
  List lines;
  std::string line;
  const std::vector<std::string> characters = characters_of(value.string());
  for (size_t i = 0; i < characters.size(); ++i) {
    if (!kEnds.contains(characters[i])) {
      line += characters[i];
      continue;
    }
    std::string end = characters[i];
    if (end == "\r" && i + 1 < characters.size() && characters[i + 1] == "\n") end += characters[++i];
    lines.emplace_back(keep ? line + end : line);
    line.clear();
  }
  if (!line.empty()) lines.emplace_back(line);
  return lines;
}

Value replace(const Value& value, const Arguments& arguments) {
  const std::string from = string_argument(arguments, 0, "old"), to = string_argument(arguments, 1, "new");
  const Value count = argument(arguments, 2, "count", int64_t{-1});
  int64_t left = count.is_none() ? -1 : count.integer();
  const std::string& text = value.string();
  std::string out;
  if (from.empty()) {
    for (const std::string& c : characters_of(text)) {
      out += (left-- != 0 ? to : "") + c;
      limit_text(out);
    }
    return left != 0 ? out + to : out;
  }
  size_t copied = 0;
  for (size_t at; left-- != 0 && (at = text.find(from, copied)) != std::string::npos; copied = at + from.size()) {
    out.append(text, copied, at - copied).append(to);
    limit_text(out);
  }
  return out.append(text, copied);
}

// The characters of a text from argument `first` on to the one behind it, as a slice has them.
struct Part {
  std::string text;
  int64_t begin;  // in characters of the whole
  bool empty;     // begins behind the end, where not even "" is found
};
Part part_of(const Value& value, const Arguments& arguments, size_t first) {
  const Value begin = argument(arguments, first, "start", Value()), end = argument(arguments, first + 1, "end", Value());
  const auto size = static_cast<int64_t>(characters_of(value.string()).size());
  int64_t at = begin.is_none() ? 0 : begin.integer();
  if (at < 0) at = std::max<int64_t>(at + size, 0);
  return {slice_of(value, begin, end, Value()).string(), at, at > size};
}

// startswith and endswith take a string or a tuple of them.
Value has_affix(const Value& value, const Arguments& arguments, bool start) {
  const Value& affix = needed(arguments, 0, "prefix");
  const List options = affix.is_tuple() ? affix.list() : List{affix};
  const Part part = part_of(value, arguments, 1);
  return std::any_of(options.begin(), options.end(), [&](const Value& option) {
    if (!option.is_string()) throw Fault{"expected a str or a tuple of str, found " + type_name(option)};
    if (part.empty) return false;
    return start ? part.text.starts_with(option.string()) : part.text.ends_with(option.string());
  });
}

int64_t find_text(const Value& value, const Arguments& arguments, bool last) {
  const std::string wanted = string_argument(arguments, 0, "sub");
  const Part part = part_of(value, arguments, 1);
  const size_t at = last ? part.text.rfind(wanted) : part.text.find(wanted);
  if (part.empty || at == std::string::npos) return -1;
  return part.begin + static_cast<int64_t>(characters_of(part.text.substr(0, at)).size());
}

Value index_text(const Value& value, const Arguments& arguments, bool last) {
  const int64_t at = find_text(value, arguments, last);
  if (at < 0) throw Fault{"substring not found"};
  return at;
}

Value count_text(const Value& value, const Arguments& arguments) {
  const std::string wanted = string_argument(arguments, 0, "sub");
  const Part part = part_of(value, arguments, 1);
  if (part.empty) return int64_t{0};
  if (wanted.empty()) return static_cast<int64_t>(characters_of(part.text).size()) + 1;
  int64_t count = 0;
  for (size_t at = 0; (at = part.text.find(wanted, at)) != std::string::npos; at += wanted.size()) ++count;
  return count;
}

// What is before the first (the last) `cut`, that itself, and what is behind it.
Value partition(const Value& value, const Arguments& arguments, bool last) {
  const std::string cut = string_argument(arguments, 0, "sep");
  if (cut.empty()) throw Fault{"empty separator"};
  const std::string& text = value.string();
  const size_t at = last ? text.rfind(cut) : text.find(cut);
  if (at == std::string::npos) return last ? Value::tuple({"", "", text}) : Value::tuple({text, "", ""});
  return Value::tuple({text.substr(0, at), cut, text.substr(at + cut.size())});
}

// center ('^'), ljust ('<') and rjust ('>').
Value aligned(const Value& value, const Arguments& arguments, char align) {
  const int64_t width = needed(arguments, 0, "width").integer();
  const Value fill = argument(arguments, 1, "fillchar", " ");
  if (characters_of(fill.string()).size() != 1) throw Fault{"the fill character must be exactly one character long"};
  const auto size = static_cast<int64_t>(characters_of(value.string()).size());
  // An odd rest goes to the left where the width is odd.
  const bool one_more = align == '^' && width > size && ((width - size) & width & 1) != 0;
  return padded((one_more ? fill.string() : "") + value.string(), width, align, fill.string());
}

Value zfill(const Value& value, const Arguments& arguments) {
  std::string text = value.string();
  const bool sign = text.starts_with('-') || text.starts_with('+');
  const int64_t width = needed(arguments, 0, "width").integer() - (sign ? 1 : 0);
  return (sign ? text.substr(0, 1) : "") + padded(sign ? text.substr(1) : text, width, '>', "0");
}

Value expandtabs(const Value& value, const Arguments& arguments) {
  const int64_t size = std::clamp<int64_t>(argument(arguments, 0, "tabsize", int64_t{8}).integer(), 0, 1000);
  std::string out;
  int64_t column = 0;
  for (const std::string& c : characters_of(value.string())) {
    if (c != "\t") {
      out += c;
      column = c == "\n" || c == "\r" ? 0 : column + 1;
      continue;
    }
    const int64_t blanks = size == 0 ? 0 : size - column % size;
    out.append(static_cast<size_t>(blanks), ' ');
    column += blanks;
    limit_text(out);
  }
  return out;
}

Value swapcase(const Value& value, const Arguments&) {
  std::string out;
  for (const std::string& c : characters_of(value.string())) out += lower(c) == c ? upper(c) : lower(c);
  return out;
}

Value join(const Value& value, const Arguments& arguments) {
  std::string out;
  bool first = true;
  for (const Value& item : items_of(needed(arguments, 0, "iterable"))) {
    if (!item.is_string()) throw Fault{"sequence item: expected str instance, " + type_name(item) + " found"};
    out += (first ? "" : value.string()) + item.string();
    limit_text(out);
    first = false;
  }
  return out;
}

Value removed_affix(const Value& value, const Arguments& arguments, bool start) {
  const std::string affix = string_argument(arguments, 0, "prefix");
  const std::string& text = value.string();
  if (start) return text.starts_with(affix) ? text.substr(affix.size()) : text;
  return text.ends_with(affix) ? text.substr(0, text.size() - affix.size()) : text;
}

Method all_characters(bool (*is)(const std::string&)) {
  return [is](const Value& value, const Arguments&) {
    const std::vector<std::string> characters = characters_of(value.string());
    return Value(!characters.empty() && std::all_of(characters.begin(), characters.end(), is));
  };
}

utf8proc_category_t category_of(const std::string& c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point_at(c, 0).value));
}

bool is_letter(const std::string& c) {
  return is_word(code_point_at(c, 0).value) && !is_numeric(code_point_at(c, 0).value) && c != "_";
}
bool is_number(const std::string& c) {
  return is_numeric(code_point_at(c, 0).value);
}
bool is_decimal(const std::string& c) {
  return category_of(c) == UTF8PROC_CATEGORY_ND;
}
bool is_letter_or_number(const std::string& c) {
  return is_letter(c) || is_number(c);
}

// Superscripts and the like are digits to Python, fractions and numerals are not: what is no decimal and stands for one digit.
bool is_digit(const std::string& c) {
  const char32_t code = code_point_at(c, 0).value;
  return is_decimal(c) || code == 0xB2 || code == 0xB3 || code == 0xB9 || code == 0x2070 ||
         (code >= 0x2074 && code <= 0x2079) || (code >= 0x2080 && code <= 0x2089) || (code >= 0x2460 && code <= 0x2468);
}

}  // namespace

const std::map<std::string, Method>& string_methods() {
  static const std::map<std::string, Method> kMethods = {
      {"strip", [](const Value& v, const Arguments& a) { return stripped(v, a, true, true); }},
      {"lstrip", [](const Value& v, const Arguments& a) { return stripped(v, a, true, false); }},
      {"rstrip", [](const Value& v, const Arguments& a) { return stripped(v, a, false, true); }},
      {"split", [](const Value& v, const Arguments& a) { return split(v, a, false); }},
      {"rsplit", [](const Value& v, const Arguments& a) { return split(v, a, true); }},
      {"splitlines", splitlines},
      {"replace", replace},
      {"startswith", [](const Value& v, const Arguments& a) { return has_affix(v, a, true); }},
      {"endswith", [](const Value& v, const Arguments& a) { return has_affix(v, a, false); }},
      {"find", [](const Value& v, const Arguments& a) { return Value(find_text(v, a, false)); }},
      {"rfind", [](const Value& v, const Arguments& a) { return Value(find_text(v, a, true)); }},
      {"index", [](const Value& v, const Arguments& a) { return index_text(v, a, false); }},
      {"rindex", [](const Value& v, const Arguments& a) { return index_text(v, a, true); }},
      {"partition", [](const Value& v, const Arguments& a) { return partition(v, a, false); }},
      {"rpartition", [](const Value& v, const Arguments& a) { return partition(v, a, true); }},
      {"center", [](const Value& v, const Arguments& a) { return aligned(v, a, '^'); }},
      {"ljust", [](const Value& v, const Arguments& a) { return aligned(v, a, '<'); }},
      {"rjust", [](const Value& v, const Arguments& a) { return aligned(v, a, '>'); }},
      {"zfill", zfill},
      {"expandtabs", expandtabs},
      {"swapcase", swapcase},
      {"format", [](const Value& v, const Arguments& a) { return Value(brace_format(v.string(), a)); }},
      {"count", count_text},
      {"join", join},
      {"removeprefix", [](const Value& v, const Arguments& a) { return removed_affix(v, a, true); }},
      {"removesuffix", [](const Value& v, const Arguments& a) { return removed_affix(v, a, false); }},
      {"upper", [](const Value& v, const Arguments&) { return Value(upper(v.string())); }},
      {"lower", [](const Value& v, const Arguments&) { return Value(lower(v.string())); }},
      {"title", [](const Value& v, const Arguments&) { return Value(title(v.string())); }},
      {"capitalize", [](const Value& v, const Arguments&) { return Value(capitalize(v.string())); }},
      {"isdigit", all_characters(is_digit)},
      {"isdecimal", all_characters(is_decimal)},
      {"isnumeric", all_characters(is_number)},
      {"isspace", all_characters(is_space)},
      {"isalpha", all_characters(is_letter)},
      {"isalnum", all_characters(is_letter_or_number)},
      {"isupper", [](const Value& v, const Arguments&) { return Value(apply_test("upper", v, {})); }},
      {"islower", [](const Value& v, const Arguments&) { return Value(apply_test("lower", v, {})); }},
      {"istitle", [](const Value& v,
                     const Arguments&) { return Value(title(v.string()) == v.string() && lower(v.string()) != v.string()); }},
      {"isascii",
       [](const Value& v, const Arguments&) {
         return Value(
             std::all_of(v.string().begin(), v.string().end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
       }},
  };
  return kMethods;
}

}  // namespace tp::jinja
