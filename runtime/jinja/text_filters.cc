// Filters that work on texts.
#include <algorithm>

#include "runtime/jinja/filter_groups.h"
#include "runtime/jinja/letter_case.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/text_format.h"
#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"

namespace tp::jinja {
namespace {

Value indent(const Value& value, const Arguments& arguments) {
  const Value width = argument(arguments, 0, "width", int64_t{4});
  const bool first = truthy(argument(arguments, 1, "first", false));
  const bool blank = truthy(argument(arguments, 2, "blank", false));
  if (width.is_int() && width.integer() > 10'000) throw Fault{"the indent is too wide"};
  const std::string pad =
      width.is_string() ? width.string() : std::string(static_cast<size_t>(std::max<int64_t>(width.integer(), 0)), ' ');
  const std::string text = text_of(value);
  std::string out = first ? pad : "";
  for (size_t start = 0; start <= text.size();) {
    const size_t end = text.find('\n', start);
    const std::string line = text.substr(start, end == std::string::npos ? end : end - start);
    if (start > 0 && (blank || !line.empty())) out += pad;
    out += line;
    limit_text(out);
    if (end == std::string::npos) break;
    out += '\n';
    start = end + 1;
  }
  return out;
}

Value escape(const Value& value, const Arguments&) {
  std::string out;
  for (const char c : text_of(value)) {
    out += c == '&'    ? "&amp;"
           : c == '<'  ? "&lt;"
           : c == '>'  ? "&gt;"
           : c == '\'' ? "&#39;"
           : c == '"'  ? "&#34;"
                       : std::string(1, c);
  }
  return out;
}

// As long as `length` characters with `end`, unless it is longer by `leeway` at most; whole words unless `killwords`.
Value truncate(const Value& value, const Arguments& arguments) {
  const int64_t length = argument(arguments, 0, "length", int64_t{255}).integer();
  const bool kill_words = truthy(argument(arguments, 1, "killwords", false));
  const std::string end = text_of(argument(arguments, 2, "end", "..."));
  const Value leeway = argument(arguments, 3, "leeway", Value());
  const int64_t kept = length - static_cast<int64_t>(characters_of(end).size());
  if (kept < 0) throw Fault{"expected length >= " + std::to_string(length - kept) + ", got " + std::to_string(length)};
  const std::vector<std::string> characters = characters_of(text_of(value));
  if (static_cast<int64_t>(characters.size()) <= length + (leeway.is_none() ? 5 : leeway.integer())) return text_of(value);
  std::string out;
  for (int64_t i = 0; i < kept; ++i) out += characters[static_cast<size_t>(i)];
  if (const size_t space = out.rfind(' '); !kill_words && space != std::string::npos) out.resize(space);
  return out + end;
}

// Words are what blanks, dashes and opening brackets separate; unlike in the method title().
Value title_words(const Value& value, const Arguments&) {
  std::string out;
  bool starts = true;
  for (const std::string& c : characters_of(text_of(value))) {
    const char32_t code = code_point_at(c, 0).value;
    out += starts ? upper(c) : lower(c);
    starts = is_whitespace(code) || (code < 0x80 && std::string_view("-({[<").find(c) != std::string_view::npos);
  }
  return out;
}

Value wordcount(const Value& value, const Arguments&) {
  int64_t count = 0;
  bool inside = false;
  for (const std::string& c : characters_of(text_of(value))) {
    const bool word = is_word(code_point_at(c, 0).value);
    count += word && !inside;
    inside = word;
  }
  return count;
}

Value replace(const Value& value, const Arguments& arguments) {
  Arguments texts = arguments;
  for (size_t i = 0; i < std::min<size_t>(texts.positional.size(), 2); ++i) texts.positional[i] = text_of(texts.positional[i]);
  return call_method(text_of(value), "replace", texts);
}

Value format(const Value& value, const Arguments& arguments) {
  if (arguments.named.empty()) return percent_format(text_of(value), Value::tuple(arguments.positional));
  if (!arguments.positional.empty()) throw Fault{"can't handle positional and keyword arguments at the same time"};
  Dict named;
  for (const auto& [name, item] : arguments.named) named.set(name, item);
  return percent_format(text_of(value), named);
}

Value center(const Value& value, const Arguments& arguments) {
  return call_method(text_of(value), "center", {{argument(arguments, 0, "width", int64_t{80})}, {}});
}

Filter text_filter(std::string (*change)(const std::string&)) {
  return [change](const Value& value, const Arguments&) { return Value(change(text_of(value))); };
}

}  // namespace

void add_text_filters(std::map<std::string, Filter>& filters) {
  filters.insert({
      {"capitalize", text_filter(capitalize)},
      {"center", center},
      {"e", escape},
      {"escape", escape},
      {"format", format},
      {"indent", indent},
      {"lower", text_filter(lower)},
      {"replace", replace},
      {"title", title_words},
      {"truncate", truncate},
      {"upper", text_filter(upper)},
      {"wordcount", wordcount},
      {"string", [](const Value& v, const Arguments&) { return Value(text_of(v)); }},
      {"trim", [](const Value& v, const Arguments& a) { return call_method(text_of(v), "strip", a); }},
  });
}

}  // namespace tp::jinja
