// Filters that make or change numbers.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "runtime/jinja/filter_groups.h"
#include "runtime/jinja/operators.h"

namespace tp::jinja {
namespace {

// Python lets one `_` stand between digits.
std::optional<std::string> without_underscores(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const auto digit = [&](size_t at) { return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])); };
    if (i == 0 || !digit(i - 1) || !digit(i + 1)) return std::nullopt;
  }
  return out;
}

// Python's int(text, base); nothing for a text that is none. Throws Fault for a number of more than 64 bits.
std::optional<int64_t> whole_number(const std::string& given, int64_t base) {
  auto text = without_underscores(call_method(given, "strip", {}).string());
  if (!text || (base != 0 && (base < 2 || base > 36))) return std::nullopt;
  const bool negative = text->starts_with('-');
  if (negative || text->starts_with('+')) text->erase(0, 1);
  for (const auto& [prefix, prefix_base] : {std::pair{'x', 16}, {'o', 8}, {'b', 2}}) {
    const bool there = text->size() > 2 && (*text)[0] == '0' && std::tolower(static_cast<unsigned char>((*text)[1])) == prefix;
    if (!there || (base != 0 && base != prefix_base)) continue;
    text->erase(0, 2);
    base = prefix_base;
    break;
  }
  if (base == 0) base = 10;
  if (negative) text->insert(0, "-");
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number, static_cast<int>(base));
  if (error == std::errc::result_out_of_range) throw Fault{"the number is too large"};
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return number;
}

// Python's float(text); nothing for a text that is none.
std::optional<double> real_number(const std::string& given) {
  const auto text = without_underscores(call_method(given, "strip", {}).string());
  if (!text || text->empty() || text->find_first_of("xXpP(") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text->c_str(), &end);
  return *end == '\0' ? std::optional(number) : std::nullopt;
}

Value to_int(const Value& value, const Arguments& arguments) {
  const Value otherwise = argument(arguments, 0, "default", int64_t{0});
  const Value base = argument(arguments, 1, "base", int64_t{10});
  const auto cut = [&](double number) {
    if (std::isnan(number)) return otherwise;
    if (!(std::abs(number) < 9e18)) throw Fault{"the number is too large"};
    return Value(static_cast<int64_t>(number));
  };
  if (defined(value).is_float()) return cut(value.number());
  if (value.is_number()) return value.integer();
  if (!value.is_string()) return otherwise;
  if (const auto number = whole_number(value.string(), base.integer())) return *number;
  const auto number = real_number(value.string());
  return number && !std::isinf(*number) ? cut(*number) : otherwise;
}

Value to_float(const Value& value, const Arguments& arguments) {
  const Value otherwise = argument(arguments, 0, "default", 0.0);
  if (defined(value).is_number()) return value.number();
  if (!value.is_string()) return otherwise;
  const auto number = real_number(value.string());
  return number ? Value(*number) : otherwise;
}

// Python's round(): of the number as it is stored, a half to the even digit; a whole number stays one.
Value rounded(const Value& value, int64_t digits) {
  if (value.is_float() && digits >= 0) {
    if (digits > 300 || !std::isfinite(value.number())) return value;
    char text[1024];
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(digits), value.number());
    return std::strtod(text, nullptr);
  }
  if (!value.is_float() && digits >= 0) return value.integer();
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  const double nearest = std::nearbyint(value.number() / scale) * scale;
  return value.is_float() ? Value(nearest) : Value(static_cast<int64_t>(nearest));
}

Value round(const Value& value, const Arguments& arguments) {
  const int64_t digits = argument(arguments, 0, "precision", int64_t{0}).integer();
  const std::string method = text_of(argument(arguments, 1, "method", "common"));
  if (!defined(value).is_number()) throw Fault{"type " + type_name(value) + " doesn't define __round__ method"};
  if (method == "common") return rounded(value, digits);
  const double scale = std::pow(10.0, static_cast<double>(digits));
  if (method == "ceil") return std::ceil(value.number() * scale) / scale;
  if (method == "floor") return std::floor(value.number() * scale) / scale;
  throw Fault{"method must be common, ceil or floor"};
}

Value absolute(const Value& value, const Arguments&) {
  if (!defined(value).is_number()) throw Fault{"bad operand type for abs(): '" + type_name(value) + "'"};
  return value.is_float() ? Value(std::abs(value.number())) : value.integer() < 0 ? unary("-", value) : value;
}

}  // namespace

void add_number_filters(std::map<std::string, Filter>& filters) {
  filters.insert({{"abs", absolute}, {"float", to_float}, {"int", to_int}, {"round", round}});
}

}  // namespace tp::jinja
