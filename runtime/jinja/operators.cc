#include "runtime/jinja/operators.h"

#include <algorithm>
#include <cmath>

#include "runtime/jinja/text_format.h"

namespace tp::jinja {
namespace {

// A template cannot ask for more than this.
constexpr size_t kLongestList = 1'000'000;

[[noreturn]] void refuse(const std::string& symbol, const Value& a, const Value& b) {
  throw Fault{"unsupported operand type(s) for " + symbol + ": '" + type_name(a) + "' and '" + type_name(b) + "'"};
}

[[noreturn]] void too_large() {
  throw Fault{"the number is too large"};
}

Value power(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  int64_t result = 1;
  for (int64_t i = 0; i < exponent && result != 0; ++i) {
    if (base == 1) break;
    if (__builtin_mul_overflow(result, base, &result)) too_large();
    if (base == -1 && i + 1 < exponent) return exponent % 2 == 0 ? int64_t{1} : int64_t{-1};
  }
  return result;
}

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) throw Fault{"integer division or modulo by zero"};
  if (b == -1) {
    int64_t negated = 0;
    if (__builtin_sub_overflow(int64_t{0}, a, &negated)) too_large();
    return negated;
  }
  const int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

Value integers(const std::string& symbol, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (symbol == "+") overflow = __builtin_add_overflow(a, b, &result);
  if (symbol == "-") overflow = __builtin_sub_overflow(a, b, &result);
  if (symbol == "*") overflow = __builtin_mul_overflow(a, b, &result);
  if (symbol == "//") result = floor_divide(a, b);
  if (symbol == "%") result = b == -1 ? 0 : a - floor_divide(a, b) * b;
  if (symbol == "**") return power(a, b);
  if (overflow) too_large();
  return result;
}

Value floats(const std::string& symbol, double a, double b) {
  if (symbol == "+") return a + b;
  if (symbol == "-") return a - b;
  if (symbol == "*") return a * b;
  if (symbol == "**") return std::pow(a, b);
  if (b == 0.0) throw Fault{symbol == "/" ? "division by zero" : "float floor division by zero"};
  if (symbol == "/") return a / b;
  if (symbol == "//") return std::floor(a / b);
  return a - std::floor(a / b) * b;
}

Value repeated(const Value& a, int64_t times) {
  times = std::max<int64_t>(times, 0);
  if (a.is_string()) {
    std::string text;
    for (int64_t i = 0; i < times && !a.string().empty(); ++i) {
      text += a.string();
      limit_text(text);
    }
    return text;
  }
  if (!a.list().empty() && static_cast<size_t>(times) > kLongestList / a.list().size()) throw Fault{"the list is too long"};
  List items;
  for (int64_t i = 0; i < times; ++i) items.insert(items.end(), a.list().begin(), a.list().end());
  return a.is_tuple() ? Value::tuple(std::move(items)) : Value(std::move(items));
}

Value added(const Value& a, const Value& b) {
  if (a.is_string() && b.is_string()) return a.string() + b.string();
  if (a.is_list() && b.is_list() && a.is_tuple() == b.is_tuple()) {
    if (a.list().size() + b.list().size() > kLongestList) throw Fault{"the list is too long"};
    List items = a.list();
    items.insert(items.end(), b.list().begin(), b.list().end());
    return a.is_tuple() ? Value::tuple(std::move(items)) : Value(std::move(items));
  }
  if (a.is_string()) throw Fault{"can only concatenate str (not \"" + type_name(b) + "\") to str"};
  if (a.is_list()) {
    throw Fault{"can only concatenate " + type_name(a) + " (not \"" + type_name(b) + "\") to " + type_name(a)};
  }
  refuse("+", a, b);
}

// Python's rule for one bound of a slice.
int64_t bound(const Value& value, int64_t size, int64_t otherwise, bool backwards) {
  if (value.is_none()) return otherwise;
  if (!value.is_int() && !value.is_bool()) throw Fault{"slice indices must be integers or None or have an __index__ method"};
  int64_t index = value.integer();
  if (index < 0) index = std::max(index + size, int64_t{-1} + (backwards ? 0 : 1));
  return std::min(index, backwards ? size - 1 : size);
}

}  // namespace

Value binary(const std::string& symbol, const Value& a, const Value& b) {
  if (symbol == "~") return text_of(a) + text_of(b);
  defined(a);
  defined(b);
  if (a.is_number() && b.is_number()) {
    if (a.is_float() || b.is_float() || symbol == "/") return floats(symbol, a.number(), b.number());
    return integers(symbol, a.integer(), b.integer());
  }
  if (symbol == "+") return added(a, b);
  if (symbol == "*" && (a.is_string() || a.is_list()) && (b.is_int() || b.is_bool())) return repeated(a, b.integer());
  if (symbol == "*" && (b.is_string() || b.is_list()) && (a.is_int() || a.is_bool())) return repeated(b, a.integer());
  if (symbol == "%" && a.is_string()) return percent_format(a.string(), b);
  refuse(symbol == "**" ? "** or pow()" : symbol, a, b);
}

Value unary(const std::string& symbol, const Value& a) {
  if (!defined(a).is_number()) throw Fault{"bad operand type for unary " + symbol + ": '" + type_name(a) + "'"};
  if (a.is_float()) return symbol == "-" ? -a.number() : a.number();
  return integers(symbol, 0, a.integer());
}

bool contains(const Value& container, const Value& item) {
  if (container.is_undefined()) return false;
  if (container.is_string()) {
    if (!item.is_string()) throw Fault{"'in <string>' requires string as left operand, not " + type_name(item)};
    return container.string().find(item.string()) != std::string::npos;
  }
  if (container.is_dict()) return container.dict().find(item) != nullptr;
  if (container.is_iterator()) {
    Iterator& rest = container.iterator();
    while (rest.next < rest.items.size()) {
      if (equal(rest.items[rest.next++], item)) return true;
    }
    return false;
  }
  if (!container.is_list() && !container.is_view())
    throw Fault{"argument of type '" + type_name(container) + "' is not iterable"};
  for (const Value& other : container.list()) {
    if (equal(other, item)) return true;
  }
  return false;
}

bool compare_values(const std::string& symbol, const Value& a, const Value& b) {
  if (symbol == "==") return equal(a, b);
  if (symbol == "!=") return !equal(a, b);
  if (symbol == "in") return contains(b, a);
  if (symbol == "not in") return !contains(b, a);
  const int order = compare(a, b, symbol);
  return symbol == "<" ? order < 0 : symbol == "<=" ? order <= 0 : symbol == ">" ? order > 0 : order >= 0;
}

Value item_of(const Value& value, const Value& key) {
  defined(value);
  if (value.is_dict()) {
    if (const Value* found = value.dict().find(key)) return *found;
  } else if (value.is_namespace()) {
    if (const Value* found = value.name_space().attributes.find(key)) return *found;
  } else if (value.shape() == Shape::kGroup && key.is_string() && (key.string() == "grouper" || key.string() == "list")) {
    return value.list()[key.string() == "list" ? 1 : 0];
  } else if ((value.is_list() || value.is_string()) && (key.is_int() || key.is_bool())) {
    const std::vector<std::string> characters = value.is_string() ? characters_of(value.string()) : std::vector<std::string>();
    const auto size = static_cast<int64_t>(value.is_string() ? characters.size() : value.list().size());
    const int64_t index = key.integer() < 0 ? key.integer() + size : key.integer();
    if (index >= 0 && index < size) return value.is_string() ? Value(characters[index]) : value.list()[index];
  }
  const std::string what = key.is_string() ? "no attribute " + repr(key) : "no element " + repr(key);
  return Undefined{object_name(value) + " has " + what};
}

Value slice_of(const Value& value, const Value& begin, const Value& end, const Value& step) {
  if (!defined(value).is_string() && !value.is_list()) throw Fault{"'" + type_name(value) + "' object is not subscriptable"};
  const List items = items_of(value);
  const auto size = static_cast<int64_t>(items.size());
  if (!step.is_none() && !step.is_int()) throw Fault{"slice indices must be integers or None or have an __index__ method"};
  const int64_t stride = step.is_none() ? 1 : step.integer();
  if (stride == 0) throw Fault{"slice step cannot be zero"};
  const bool backwards = stride < 0;
  const int64_t from = bound(begin, size, backwards ? size - 1 : 0, backwards);
  const int64_t to = bound(end, size, backwards ? -1 : size, backwards);
  List picked;
  for (int64_t i = from; backwards ? i > to : i < to; i += stride) {
    picked.push_back(items[i]);
    if (stride > size || stride < -size) break;
  }
  if (value.is_list()) return value.is_tuple() ? Value::tuple(std::move(picked)) : Value(std::move(picked));
  std::string text;
  for (const Value& c : picked) text += c.string();
  return text;
}

}  // namespace tp::jinja
