#include "runtime/jinja/text_format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "runtime/jinja/operators.h"
#include "runtime/text/utf8.h"

namespace tp::jinja {
namespace {

constexpr int64_t kWidest = 100'000;
constexpr int64_t kMostDigits = 300;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// What stands between the sign of a field and its type, in `%` and in `{:}` alike.
struct Spec {
  std::string fill = " ";
  char align = '\0';  // < > ^, or = for zeros behind the sign; 0 = as the type has it
  bool plus = false, space = false, other = false, commas = false;
  int64_t width = 0;
  std::optional<int64_t> precision;
  char type = '\0';
};

std::string with_commas(std::string digits) {
  const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (size_t at = end; at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

int64_t whole(const Value& value) {
  if (!value.is_float()) return value.integer();
  if (!(std::abs(value.number()) < 9e18)) throw Fault{"the number is too large"};
  return static_cast<int64_t>(value.number());
}

// The digits of a number without its sign, by C's rules, which are Python's.
std::string digits_of(const Value& value, const Spec& spec) {
  if (spec.precision.value_or(0) > kMostDigits) throw Fault{"a precision of more than " + std::to_string(kMostDigits)};
  char text[1024];
  const std::string other = spec.other ? "#" : "";
  if (std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos) {
    const char type = spec.type == '%' ? 'f' : spec.type;
    const double number = std::abs(value.number()) * (spec.type == '%' ? 100 : 1);
    const int precision = static_cast<int>(spec.precision.value_or(6));
    std::snprintf(text, sizeof text, ("%" + other + ".*" + type).c_str(), precision, number);
    return spec.type == '%' ? std::string(text) + "%" : text;
  }
  const int64_t number = whole(value);
  uint64_t magnitude = number < 0 ? ~static_cast<uint64_t>(number) + 1 : static_cast<uint64_t>(number);
  if (spec.type == 'b') {
    std::string bits;
    for (; magnitude != 0 || bits.empty(); magnitude >>= 1) bits.insert(bits.begin(), magnitude & 1 ? '1' : '0');
    return (spec.other ? "0b" : "") + bits;
  }
  const char type = spec.type == 'x' || spec.type == 'X' || spec.type == 'o' ? spec.type : 'u';
  const std::string prefix = spec.other && type != 'u' ? std::string("0") + type : "";
  std::snprintf(text, sizeof text,
                type == 'u'   ? "%llu"
                : type == 'x' ? "%llx"
                : type == 'X' ? "%llX"
                              : "%llo",
                static_cast<unsigned long long>(magnitude));
  return prefix + text;
}

std::string number_text(const Value& value, const Spec& spec) {
  const bool negative = value.is_float() ? std::signbit(value.number()) : value.integer() < 0;
  const std::string sign = negative ? "-" : spec.plus ? "+" : spec.space ? " " : "";
  std::string digits = digits_of(value, spec);
  if (spec.commas) digits = with_commas(std::move(digits));
  if (spec.align == '=') {
    const auto used = static_cast<int64_t>(sign.size() + digits.size());
    return sign + std::string(static_cast<size_t>(std::max<int64_t>(spec.width - used, 0)), spec.fill[0]) + digits;
  }
  return padded(sign + digits, spec.width, spec.align == '\0' ? '>' : spec.align, spec.fill);
}

std::string cut(const std::string& text, const std::optional<int64_t>& length) {
  if (!length) return text;
  std::string out;
  int64_t count = 0;
  for (const std::string& c : characters_of(text)) {
    if (count++ == *length) break;
    out += c;
  }
  return out;
}

int64_t take_number(const std::string& text, size_t& at) {
  int64_t number = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    number = number * 10 + (text[at] - '0');
    if (number > kWidest) throw Fault{"a width of more than " + std::to_string(kWidest)};
  }
  return number;
}

// The arguments of `%`, one after the other or by their names.
class PercentArguments {
 public:
  explicit PercentArguments(const Value& arguments)
      : given_(arguments), items_(arguments.is_tuple() ? arguments.list() : List{arguments}) {}
  Value next() {
    if (next_ == items_.size()) throw Fault{"not enough arguments for format string"};
    return items_[next_++];
  }
  Value named(const std::string& name) {
    if (!given_.is_dict()) throw Fault{"format requires a mapping"};
    const Value* found = given_.dict().find(name);
    if (!found) throw Fault{"there is no " + repr(name) + " for the format string"};
    next_ = items_.size();
    return *found;
  }
  void finish() const {
    // A list passes for a mapping with Python here.
    const bool mapping = given_.is_dict() || (given_.is_list() && !given_.is_tuple());
    if (next_ < items_.size() && !mapping) throw Fault{"not all arguments converted during string formatting"};
  }

 private:
  const Value& given_;
  List items_;
  size_t next_ = 0;
};

std::string percent_field(const Value& value, Spec spec) {
  const char type = spec.type;
  if (type == 's' || type == 'r' || type == 'a') {
    return padded(cut(type == 's' ? text_of(value) : repr(value), spec.precision), spec.width, spec.align == '<' ? '<' : '>',
                  " ");
  }
  if (type == 'c') {
    std::string text = value.is_string() ? value.string() : "";
    if (value.is_int()) append_utf8(text, static_cast<char32_t>(std::clamp<int64_t>(value.integer(), 0, 0x10FFFF)));
    if (characters_of(text).size() != 1) throw Fault{"%c requires int or char"};
    return padded(text, spec.width, spec.align == '<' ? '<' : '>', " ");
  }
  if (std::string_view("diuxXoeEfFgG").find(type) == std::string_view::npos) {
    throw Fault{std::string("unsupported format character '") + type + "'"};
  }
  const bool needs_int = type == 'x' || type == 'X' || type == 'o';
  if (!value.is_number() || (needs_int && value.is_float())) {
    throw Fault{std::string("%") + type + " format: a real number is required, not " + type_name(value)};
  }
  if (type == 'i' || type == 'u') spec.type = 'd';
  if (spec.type == 'd' && spec.precision) {
    throw Fault{"a precision for whole numbers is not supported"};
  }
  return number_text(value, spec);
}

// One field of `%` behind the sign; `at` is moved behind it.
std::string take_percent_field(const std::string& format, size_t& at, PercentArguments& arguments) {
  Spec spec;
  std::optional<Value> value;
  if (at < format.size() && format[at] == '(') {
    const size_t close = format.find(')', at);
    if (close == std::string::npos) throw Fault{"incomplete format key"};
    value = arguments.named(format.substr(at + 1, close - at - 1));
    at = close + 1;
  }
  for (; at < format.size() && std::string_view("-+ #0").find(format[at]) != std::string_view::npos; ++at) {
    const char flag = format[at];
    if (flag == '-') spec.align = '<';
    if (flag == '0' && spec.align == '\0') spec.align = '=', spec.fill = "0";
    spec.plus |= flag == '+';
    spec.space |= flag == ' ';
    spec.other |= flag == '#';
  }
  if (spec.align == '<') spec.fill = " ";
  const auto number = [&] {
    if (at >= format.size() || format[at] != '*') return take_number(format, at);
    ++at;
    return std::clamp<int64_t>(arguments.next().integer(), -kWidest, kWidest);
  };
  spec.width = number();
  if (spec.width < 0) spec.align = '<', spec.fill = " ", spec.width = -spec.width;
  if (at < format.size() && format[at] == '.') {
    ++at;
    spec.precision = std::max<int64_t>(number(), 0);
  }
  if (at == format.size()) throw Fault{"incomplete format"};
  spec.type = format[at++];
  if (spec.type == '%') return "%";
  return percent_field(value ? *value : arguments.next(), spec);
}

Spec brace_spec(const std::string& text) {
  Spec spec;
  size_t at = 0;
  constexpr std::string_view kAligns = "<>^=";
  const size_t first = text.empty() ? 0 : code_point_at(text, 0).size_bytes;
  if (first < text.size() && kAligns.find(text[first]) != std::string_view::npos) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    at = first + 1;
  } else if (!text.empty() && kAligns.find(text[0]) != std::string_view::npos) {
    spec.align = text[at++];
  }
  const auto skip = [&](char c) { return at < text.size() && text[at] == c ? ++at, true : false; };
  spec.plus = skip('+');
  spec.space = !spec.plus && skip(' ');
  if (!spec.plus && !spec.space) skip('-');
  spec.other = skip('#');
  if (skip('0') && spec.align == '\0') spec.align = '=', spec.fill = "0";
  spec.width = take_number(text, at);
  spec.commas = skip(',');
  if (skip('.')) spec.precision = take_number(text, at);
  if (at < text.size()) spec.type = text[at++];
  if (at < text.size()) throw Fault{"Invalid format specifier '" + text + "'"};
  return spec;
}

std::string brace_field(const Value& value, const std::string& text) {
  if (text.empty()) return text_of(value);
  Spec spec = brace_spec(text);
  const auto refuse = [&]() -> std::string {
    throw Fault{"Unknown format code '" + text + "' for object of type '" + type_name(value) + "'"};
  };
  if (value.is_string()) {
    if ((spec.type != '\0' && spec.type != 's') || spec.align == '=' || spec.plus || spec.commas) return refuse();
    return padded(cut(value.string(), spec.precision), spec.width, spec.align == '\0' ? '<' : spec.align, spec.fill);
  }
  if (!value.is_number() || value.is_bool()) return refuse();
  if (value.is_int() && spec.type == '\0') spec.type = 'd';
  const std::string_view types = value.is_int() ? "dbxXoeEfFgG%" : "eEfFgG%";
  const bool whole_with_precision = spec.precision && std::string_view("dbxXo").find(spec.type) != std::string_view::npos;
  // A float without a type is close to %g and yet another thing.
  if (spec.type == '\0' || types.find(spec.type) == std::string_view::npos || whole_with_precision) return refuse();
  return number_text(value, spec);
}

// The value of a field's name: "", "0", "name", with any "[key]" behind it.
Value brace_value(const std::string& name, const Arguments& arguments, size_t& next) {
  const size_t end = std::min(name.find_first_of(".["), name.size());
  const std::string first = name.substr(0, end);
  if (end < name.size() && name[end] == '.') throw Fault{"`{" + name + "}`: attributes are not supported"};
  const Value* found = nullptr;
  if (first.empty() || std::all_of(first.begin(), first.end(), is_digit)) {
    const size_t index = first.empty() ? next++ : static_cast<size_t>(std::atoi(first.c_str()));
    if (index >= arguments.positional.size()) throw Fault{"Replacement index " + std::to_string(index) + " out of range"};
    found = &arguments.positional[index];
  } else {
    found = arguments.find(SIZE_MAX, first);
    if (!found) throw Fault{"there is no " + repr(first) + " for the format string"};
  }
  Value value = *found;
  for (size_t at = end; at < name.size();) {
    const size_t close = name.find(']', at);
    if (name[at] != '[' || close == std::string::npos) throw Fault{"`{" + name + "}` is not a field"};
    const std::string key = name.substr(at + 1, close - at - 1);
    const bool index = !key.empty() && std::all_of(key.begin(), key.end(), is_digit);
    value = defined(item_of(value, index ? Value(int64_t{std::atoll(key.c_str())}) : Value(key)));
    at = close + 1;
  }
  return value;
}

std::string replacement(std::string field, const Arguments& arguments, size_t& next) {
  std::string spec;
  if (const size_t colon = field.find(':'); colon != std::string::npos) {
    spec = field.substr(colon + 1);
    field.resize(colon);
  }
  char conversion = '\0';
  if (const size_t mark = field.find('!'); mark != std::string::npos) {
    conversion = mark + 2 == field.size() ? field[mark + 1] : '?';
    field.resize(mark);
  }
  Value value = brace_value(field, arguments, next);
  if (conversion != '\0' && conversion != 'r' && conversion != 's') throw Fault{"expected !r or !s in a format string"};
  if (conversion != '\0') value = conversion == 'r' ? repr(value) : text_of(value);
  return brace_field(value, spec);
}

}  // namespace

std::string padded(const std::string& text, int64_t width, char align, const std::string& fill) {
  if (width > kWidest) throw Fault{"a width of more than " + std::to_string(kWidest)};
  const int64_t missing = std::max<int64_t>(width - static_cast<int64_t>(characters_of(text).size()), 0);
  const int64_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += text;
  for (int64_t i = left; i < missing; ++i) out += fill;
  return out;
}

std::string percent_format(const std::string& format, const Value& given) {
  PercentArguments arguments(given);
  std::string out;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    out += take_percent_field(format, ++at, arguments);
    limit_text(out);
  }
  arguments.finish();
  return out;
}

std::string brace_format(const std::string& format, const Arguments& arguments) {
  std::string out;
  size_t next = 0;
  for (size_t at = 0; at < format.size(); ++at) {
    const char c = format[at];
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (at + 1 < format.size() && format[at + 1] == c) {
      out += c;
      ++at;
      continue;
    }
    const size_t close = format.find('}', at);
    if (c == '}' || close == std::string::npos) throw Fault{std::string("Single '") + c + "' encountered in format string"};
    const std::string field = format.substr(at + 1, close - at - 1);
    if (field.find('{') != std::string::npos) throw Fault{"a field within a field is not supported"};
    out += replacement(field, arguments, next);
    limit_text(out);
    at = close;
  }
  return out;
}

}  // namespace tp::jinja
