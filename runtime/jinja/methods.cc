#include <algorithm>
#include <set>

#include "runtime/jinja/builtins.h"
#include "runtime/jinja/letter_case.h"
#include "runtime/jinja/operators.h"
#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"

namespace tp::jinja {
namespace {

using Method = Value (*)(const Value&, const Arguments&);

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

// startswith and endswith take a string or a tuple of them.
Value has_affix(const Value& value, const Arguments& arguments, bool start) {
  const Value& affix = needed(arguments, 0, "prefix");
  const List options = affix.is_tuple() ? affix.list() : List{affix};
  if (arguments.positional.size() > 1) throw Fault{"startswith and endswith with a range are not supported"};
  return std::any_of(options.begin(), options.end(), [&](const Value& option) {
    if (!option.is_string()) throw Fault{"expected a str or a tuple of str, found " + type_name(option)};
    return start ? value.string().starts_with(option.string()) : value.string().ends_with(option.string());
  });
}

int64_t find_text(const Value& value, const Arguments& arguments, bool last) {
  const std::string wanted = string_argument(arguments, 0, "sub");
  if (arguments.positional.size() > 1) throw Fault{"find with a range is not supported"};
  const size_t at = last ? value.string().rfind(wanted) : value.string().find(wanted);
  return at == std::string::npos ? -1 : static_cast<int64_t>(characters_of(value.string().substr(0, at)).size());
}

Value index_text(const Value& value, const Arguments& arguments) {
  const int64_t at = find_text(value, arguments, false);
  if (at < 0) throw Fault{"substring not found"};
  return at;
}

Value count_text(const Value& value, const Arguments& arguments) {
  const std::string wanted = string_argument(arguments, 0, "sub");
  if (wanted.empty()) return static_cast<int64_t>(characters_of(value.string()).size()) + 1;
  int64_t count = 0;
  for (size_t at = 0; (at = value.string().find(wanted, at)) != std::string::npos; at += wanted.size()) ++count;
  return count;
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

bool all_characters(const Value& value, bool (*is)(const std::string&)) {
  const std::vector<std::string> characters = characters_of(value.string());
  return !characters.empty() && std::all_of(characters.begin(), characters.end(), is);
}

bool is_letter(const std::string& c) {
  return is_word(code_point_at(c, 0).value) && !is_numeric(code_point_at(c, 0).value) && c != "_";
}
bool is_number(const std::string& c) {
  return is_numeric(code_point_at(c, 0).value);
}

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
      {"index", index_text},
      {"count", count_text},
      {"join", join},
      {"removeprefix", [](const Value& v, const Arguments& a) { return removed_affix(v, a, true); }},
      {"removesuffix", [](const Value& v, const Arguments& a) { return removed_affix(v, a, false); }},
      {"upper", [](const Value& v, const Arguments&) { return Value(upper(v.string())); }},
      {"lower", [](const Value& v, const Arguments&) { return Value(lower(v.string())); }},
      {"title", [](const Value& v, const Arguments&) { return Value(title(v.string())); }},
      {"capitalize", [](const Value& v, const Arguments&) { return Value(capitalize(v.string())); }},
      {"isdigit", [](const Value& v, const Arguments&) { return Value(all_characters(v, is_number)); }},
      {"isnumeric", [](const Value& v, const Arguments&) { return Value(all_characters(v, is_number)); }},
      {"isspace", [](const Value& v, const Arguments&) { return Value(all_characters(v, is_space)); }},
      {"isalpha", [](const Value& v, const Arguments&) { return Value(all_characters(v, is_letter)); }},
      {"isalnum",
       [](const Value& v, const Arguments&) {
         return Value(all_characters(v, [](const std::string& c) { return is_letter(c) || is_number(c); }));
       }},
      {"isupper", [](const Value& v, const Arguments&) { return Value(apply_test("upper", v, {})); }},
      {"islower", [](const Value& v, const Arguments&) { return Value(apply_test("lower", v, {})); }},
  };
  return kMethods;
}

const std::map<std::string, Method>& dict_methods() {
  static const std::map<std::string, Method> kMethods = {
      {"get",
       [](const Value& v, const Arguments& a) {
         const Value* found = v.dict().find(needed(a, 0, "key"));
         return found ? *found : argument(a, 1, "default", Value());
       }},
      {"keys", [](const Value& v, const Arguments&) { return Value(items_of(v)); }},
      {"values",
       [](const Value& v, const Arguments&) {
         List values;
         for (const auto& [key, value] : v.dict().items) values.push_back(value);
         return Value(std::move(values));
       }},
      {"items",
       [](const Value& v, const Arguments&) {
         List pairs;
         for (const auto& [key, value] : v.dict().items) pairs.push_back(Value::tuple({key, value}));
         return Value(std::move(pairs));
       }},
      {"copy", [](const Value& v, const Arguments&) { return v; }},
  };
  return kMethods;
}

const std::map<std::string, Method>& list_methods() {
  static const std::map<std::string, Method> kMethods = {
      {"index",
       [](const Value& v, const Arguments& a) {
         const List& items = v.list();
         const auto found =
             std::find_if(items.begin(), items.end(), [&](const Value& i) { return equal(i, needed(a, 0, "value")); });
         if (found == items.end()) throw Fault{repr(needed(a, 0, "value")) + " is not in list"};
         return Value(static_cast<int64_t>(found - items.begin()));
       }},
      {"count",
       [](const Value& v, const Arguments& a) {
         const List& items = v.list();
         return Value(static_cast<int64_t>(
             std::count_if(items.begin(), items.end(), [&](const Value& i) { return equal(i, needed(a, 0, "value")); })));
       }},
      {"copy", [](const Value& v, const Arguments&) { return v; }},
  };
  return kMethods;
}

}  // namespace

Value method_of(const Value& value, const std::string& name) {
  static const std::set<std::string> kListChanges = {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"};
  static const std::set<std::string> kDictChanges = {"update", "setdefault", "pop", "popitem", "clear"};
  const Undefined none{object_name(value) + " has no attribute '" + name + "'"};
  if (!value.is_string() && !value.is_list() && !value.is_dict()) return none;
  const auto& methods = value.is_string() ? string_methods() : value.is_list() ? list_methods() : dict_methods();
  const auto found = methods.find(name);
  if (found != methods.end()) {
    return Function{name, [value, method = found->second](const Arguments& arguments) { return method(value, arguments); }};
  }
  if ((value.is_list() && kListChanges.contains(name)) || (value.is_dict() && kDictChanges.contains(name))) {
    return Function{name, [value, name](const Arguments&) -> Value {
                      throw Fault{"access to attribute '" + name + "' of '" + type_name(value) + "' object is unsafe."};
                    }};
  }
  return none;
}

}  // namespace tp::jinja
