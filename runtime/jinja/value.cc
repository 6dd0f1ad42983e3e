#include "runtime/jinja/value.h"

#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "runtime/text/utf8.h"

namespace tp::jinja {
namespace {

std::string string_repr(const std::string& text) {
  const bool double_quotes = text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
  const char quote = double_quotes ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c.value));
    char escape[16];
    if (c.value == '\n' || c.value == '\r' || c.value == '\t') {
      out += c.value == '\n' ? "\\n" : c.value == '\r' ? "\\r" : "\\t";
    } else if (c.value == '\\' || c.value == static_cast<char32_t>(quote)) {
      out += {'\\', static_cast<char>(c.value)};
    } else if (c.value != ' ' && (category == UTF8PROC_CATEGORY_CN || category >= UTF8PROC_CATEGORY_ZS)) {
      const char* format = c.value < 0x100 ? "\\x%02x" : c.value < 0x10000 ? "\\u%04x" : "\\U%08x";
      std::snprintf(escape, sizeof escape, format, static_cast<unsigned>(c.value));
      out += escape;
    } else {
      out.append(text, at, c.size_bytes);
    }
    at += c.size_bytes;
  }
  return out + quote;
}

// A template that runs away is stopped early where a fuzzer is to get on.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr size_t kLongestText = size_t{1} << 18;
#else
constexpr size_t kLongestText = size_t{16} << 20;
#endif
constexpr int kDeepestValue = 200;

[[noreturn]] void too_deep() {
  throw Fault{"values are nested too deep"};
}

std::string repr_at(const Value& value, int depth);

std::string joined_reprs(const List& items, int depth) {
  std::string out;
  for (const Value& item : items) {
    out += (out.empty() ? "" : ", ") + repr_at(item, depth + 1);
    limit_text(out);
  }
  return out;
}

std::string dict_repr(const Dict& dict, int depth) {
  std::string out;
  for (const auto& [key, value] : dict.items) {
    out += (out.empty() ? "" : ", ") + repr_at(key, depth + 1) + ": " + repr_at(value, depth + 1);
    limit_text(out);
  }
  return "{" + out + "}";
}

// A namespace may hold itself, so that the depth of a value that is made is not all there is.
std::string repr_at(const Value& value, int depth) {
  if (depth > kDeepestValue) too_deep();
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "None";
  if (value.is_bool()) return value.boolean() ? "True" : "False";
  if (value.is_int()) return std::to_string(value.integer());
  if (value.is_float()) return float_text(value.number());
  if (value.is_string()) return string_repr(value.string());
  if (value.is_list()) {
    const std::string items = joined_reprs(value.list(), depth);
    if (!value.is_tuple()) return "[" + items + "]";
    return "(" + items + (value.list().size() == 1 ? ",)" : ")");
  }
  if (value.is_view()) return type_name(value) + "([" + joined_reprs(value.list(), depth) + "])";
  if (value.is_iterator()) return "<" + type_name(value) + " object>";
  if (value.is_dict()) return dict_repr(value.dict(), depth);
  if (value.is_namespace()) return "<Namespace " + dict_repr(value.name_space().attributes, depth) + ">";
  return "<function " + value.function().name + ">";
}

}  // namespace

void limit_text(const std::string& text) {
  if (text.size() > kLongestText) throw Fault{"the text is too long"};
}

void Value::wrong_kind(const char* wanted) const {
  throw Fault{std::string("expected a value of type ") + wanted + ", found " + type_name(*this)};
}

int Value::depth_above(const List& items) {
  int deepest = 0;
  for (const Value& item : items) deepest = std::max(deepest, item.depth_);
  if (deepest == kDeepestValue) too_deep();
  return deepest + 1;
}

int Value::depth_above(const Dict& dict) {
  int deepest = 0;
  for (const auto& [key, value] : dict.items) deepest = std::max({deepest, key.depth_, value.depth_});
  if (deepest == kDeepestValue) too_deep();
  return deepest + 1;
}

const Value* Dict::find(const Value& key) const {
  for (const auto& [k, value] : items) {
    if (equal(k, key)) return &value;
  }
  return nullptr;
}

void Dict::set(const Value& key, Value value) {
  for (auto& [k, old] : items) {
    if (!equal(k, key)) continue;
    old = std::move(value);
    return;
  }
  items.emplace_back(key, std::move(value));
}

const Value* Arguments::find(size_t index, std::string_view name) const {
  if (index < positional.size()) return &positional[index];
  for (const auto& [n, value] : named) {
    if (n == name) return &value;
  }
  return nullptr;
}

std::string type_name(const Value& value) {
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "NoneType";
  if (value.is_bool()) return "bool";
  if (value.is_int()) return "int";
  if (value.is_float()) return "float";
  if (value.is_string()) return "str";
  if (value.is_list()) return value.is_tuple() ? "tuple" : "list";
  if (value.is_view())
    return value.shape() == Shape::kKeys ? "dict_keys" : value.shape() == Shape::kValues ? "dict_values" : "dict_items";
  if (value.is_iterator()) return value.iterator().name;
  if (value.is_dict()) return "dict";
  return value.is_namespace() ? "Namespace" : "function";
}

std::string object_name(const Value& value) {
  return value.is_none() ? "'None'" : "'" + type_name(value) + " object'";
}

bool truthy(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (value.is_number()) return value.number() != 0.0;
  if (value.is_string()) return !value.string().empty();
  if (value.is_list() || value.is_view()) return !value.list().empty();
  if (value.is_dict()) return !value.dict().items.empty();
  return true;
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return a.is_float() || b.is_float() ? a.number() == b.number() : a.integer() == b.integer();
  }
  if (a.is_string() && b.is_string()) return a.string() == b.string();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.is_list() && b.is_list() && a.is_tuple() == b.is_tuple()) {
    return std::equal(a.list().begin(), a.list().end(), b.list().begin(), b.list().end(), equal);
  }
  if (a.is_dict() && b.is_dict()) {
    if (a.dict().items.size() != b.dict().items.size()) return false;
    return std::all_of(a.dict().items.begin(), a.dict().items.end(), [&](const auto& item) {
      const Value* other = b.dict().find(item.first);
      return other && equal(item.second, *other);
    });
  }
  if (a.is_view() && a.shape() == b.shape()) return equal(List(a.list()), List(b.list()));
  if (a.is_iterator() && b.is_iterator()) return &a.iterator() == &b.iterator();
  if (a.is_function() && b.is_function()) return &a.function() == &b.function();
  return a.is_namespace() && b.is_namespace() && &a.name_space() == &b.name_space();
}

int compare(const Value& a, const Value& b, const std::string& symbol) {
  defined(a);
  defined(b);
  if (a.is_number() && b.is_number()) {
    if (a.is_float() || b.is_float()) return a.number() < b.number() ? -1 : a.number() > b.number();
    return a.integer() < b.integer() ? -1 : a.integer() > b.integer();
  }
  if (a.is_string() && b.is_string()) return a.string() < b.string() ? -1 : a.string() > b.string();
  if (a.is_list() && b.is_list() && a.is_tuple() == b.is_tuple()) {
    const size_t common = std::min(a.list().size(), b.list().size());
    for (size_t i = 0; i < common; ++i) {
      if (!equal(a.list()[i], b.list()[i])) return compare(a.list()[i], b.list()[i], symbol);
    }
    return a.list().size() < b.list().size() ? -1 : a.list().size() > b.list().size();
  }
  throw Fault{"'" + symbol + "' not supported between instances of '" + type_name(a) + "' and '" + type_name(b) + "'"};
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string scientific(buffer, end);
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return scientific;
  const auto fixed_end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  const std::string fixed(buffer, fixed_end);
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

std::string repr(const Value& value) {
  return repr_at(value, 0);
}

std::string text_of(const Value& value) {
  if (value.is_undefined()) return "";
  return value.is_string() ? value.string() : repr(value);
}

List items_of(const Value& value) {
  if (value.is_undefined()) return {};
  if (value.is_list() || value.is_view()) return value.list();
  List items;
  if (value.is_iterator()) {
    Iterator& rest = value.iterator();
    items.assign(rest.items.begin() + static_cast<std::ptrdiff_t>(rest.next), rest.items.end());
    rest.next = rest.items.size();
    return items;
  }
  if (value.is_dict()) {
    for (const auto& [key, item] : value.dict().items) items.push_back(key);
    return items;
  }
  if (value.is_string()) {
    for (std::string& c : characters_of(value.string())) items.emplace_back(std::move(c));
    return items;
  }
  throw Fault{"'" + type_name(value) + "' object is not iterable"};
}

const Value& defined(const Value& value) {
  if (value.is_undefined()) throw Fault{value.undefined().message};
  return value;
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  for (size_t at = 0; at < text.size();) {
    const size_t size = code_point_at(text, at).size_bytes;
    characters.emplace_back(text.substr(at, size));
    at += size;
  }
  return characters;
}

}  // namespace tp::jinja
