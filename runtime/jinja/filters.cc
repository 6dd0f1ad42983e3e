#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "runtime/jinja/builtins.h"
#include "runtime/jinja/json_text.h"
#include "runtime/jinja/letter_case.h"
#include "runtime/jinja/operators.h"

namespace tp::jinja {
namespace {

Value call_method(const Value& value, const std::string& name, Arguments arguments) {
  const Value method = method_of(value, name);
  return defined(method).function().call(arguments);
}

// "a.b.0" of an item, as map, sort and selectattr take it.
Value attribute_path(Value value, const Value& path) {
  if (path.is_int()) return item_of(value, path);
  const std::string text = text_of(path);
  size_t start = 0;
  while (true) {
    const size_t dot = text.find('.', start);
    const std::string part = text.substr(start, dot == std::string::npos ? dot : dot - start);
    const bool number = !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); });
    value = item_of(value, number ? Value(int64_t{std::atoll(part.c_str())}) : Value(part));
    if (dot == std::string::npos) return value;
    start = dot + 1;
  }
}

// Strings compare without regard to case, as Jinja's filters do by default.
Value sort_key(const Value& value, bool case_sensitive) {
  return value.is_string() && !case_sensitive ? Value(lower(value.string())) : value;
}

Value sorted(const Value& value, const Arguments& arguments) {
  List items = items_of(value);
  const bool reverse = truthy(argument(arguments, 0, "reverse", false));
  const bool case_sensitive = truthy(argument(arguments, 1, "case_sensitive", false));
  const Value attribute = argument(arguments, 2, "attribute", Value());
  const auto key = [&](const Value& item) {
    return sort_key(attribute.is_none() ? item : attribute_path(item, attribute), case_sensitive);
  };
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    return reverse ? compare(key(b), key(a), "<") < 0 : compare(key(a), key(b), "<") < 0;
  });
  return items;
}

Value dictsort(const Value& value, const Arguments& arguments) {
  if (!defined(value).is_dict()) throw Fault{"dictsort needs a dict"};
  const bool case_sensitive = truthy(argument(arguments, 0, "case_sensitive", false));
  const bool by_value = text_of(argument(arguments, 1, "by", "key")) == "value";
  const bool reverse = truthy(argument(arguments, 2, "reverse", false));
  auto items = value.dict().items;
  std::stable_sort(items.begin(), items.end(), [&](const auto& a, const auto& b) {
    const Value left = sort_key(by_value ? a.second : a.first, case_sensitive);
    const Value right = sort_key(by_value ? b.second : b.first, case_sensitive);
    return reverse ? compare(right, left, "<") < 0 : compare(left, right, "<") < 0;
  });
  List pairs;
  for (const auto& [key, item] : items) pairs.push_back(Value::tuple({key, item}));
  return pairs;
}

Value unique(const Value& value, const Arguments& arguments) {
  const bool case_sensitive = truthy(argument(arguments, 0, "case_sensitive", false));
  const Value attribute = argument(arguments, 1, "attribute", Value());
  List kept, keys;
  for (const Value& item : items_of(value)) {
    const Value key = sort_key(attribute.is_none() ? item : attribute_path(item, attribute), case_sensitive);
    if (contains(keys, key)) continue;
    keys.push_back(key);
    kept.push_back(item);
  }
  return kept;
}

Value extreme(const Value& value, const Arguments& arguments, int sign) {
  const bool case_sensitive = truthy(argument(arguments, 0, "case_sensitive", false));
  const Value attribute = argument(arguments, 1, "attribute", Value());
  const List items = items_of(value);
  if (items.empty()) return Undefined{"No aggregated item, sequence was empty."};
  const auto key = [&](const Value& item) {
    return sort_key(attribute.is_none() ? item : attribute_path(item, attribute), case_sensitive);
  };
  const Value* best = &items[0];
  for (const Value& item : items) {
    if (compare(key(item), key(*best), "<") * sign > 0) best = &item;
  }
  return *best;
}

Value sum(const Value& value, const Arguments& arguments) {
  const Value attribute = argument(arguments, 0, "attribute", Value());
  Value total = argument(arguments, 1, "start", int64_t{0});
  for (const Value& item : items_of(value)) {
    total = binary("+", total, attribute.is_none() ? item : attribute_path(item, attribute));
  }
  return total;
}

Value join(const Value& value, const Arguments& arguments) {
  const std::string separator = text_of(argument(arguments, 0, "d", ""));
  const Value attribute = argument(arguments, 1, "attribute", Value());
  std::string out;
  bool first = true;
  for (const Value& item : items_of(value)) {
    if (!first) out += separator;
    first = false;
    out += text_of(attribute.is_none() ? item : attribute_path(item, attribute));
    limit_text(out);
  }
  return out;
}

Value map(const Value& value, const Arguments& arguments) {
  List out;
  const Value* attribute = arguments.positional.empty() ? arguments.find(0, "attribute") : nullptr;
  const Value otherwise = argument({{}, arguments.named}, 0, "default", Undefined{});
  if (!attribute && arguments.positional.empty()) throw Fault{"map requires a filter argument"};
  for (const Value& item : items_of(value)) {
    if (attribute) {
      const Value found = attribute_path(item, *attribute);
      out.push_back(found.is_undefined() && arguments.find(99, "default") ? otherwise : found);
      continue;
    }
    Arguments rest{{arguments.positional.begin() + 1, arguments.positional.end()}, arguments.named};
    out.push_back(apply_filter(text_of(arguments.positional[0]), item, rest));
  }
  return out;
}

// select, reject, selectattr and rejectattr.
Value select(const Value& value, Arguments arguments, bool by_attribute, bool wanted) {
  Value attribute;
  if (by_attribute) {
    attribute = needed(arguments, 0, "attribute");
    arguments.positional.erase(arguments.positional.begin());
  }
  std::string test;
  if (!arguments.positional.empty()) {
    test = text_of(arguments.positional[0]);
    arguments.positional.erase(arguments.positional.begin());
  }
  List kept;
  for (const Value& item : items_of(value)) {
    const Value subject = by_attribute ? attribute_path(item, attribute) : item;
    if ((test.empty() ? truthy(subject) : apply_test(test, subject, arguments)) == wanted) kept.push_back(item);
  }
  return kept;
}

Value groupby(const Value& value, const Arguments& arguments) {
  const Value attribute = needed(arguments, 0, "attribute");
  const List items = sorted(value, {{}, {{"attribute", attribute}}}).list();
  List groups;
  List members;
  const auto close = [&](const Value& key) {
    if (!members.empty()) groups.push_back(Value::tuple({key, std::exchange(members, {})}));
  };
  Value key;
  for (const Value& item : items) {
    const Value next = attribute_path(item, attribute);
    if (!members.empty() && !equal(sort_key(next, false), sort_key(key, false))) close(key);
    if (members.empty()) key = next;
    members.push_back(item);
  }
  close(key);
  return groups;
}

Value batch(const Value& value, const Arguments& arguments) {
  const int64_t size = std::max<int64_t>(needed(arguments, 0, "linecount").integer(), 1);
  const Value* fill = arguments.find(1, "fill_with");
  List rows, row;
  for (const Value& item : items_of(value)) {
    if (static_cast<int64_t>(row.size()) == size) rows.emplace_back(std::exchange(row, {}));
    row.push_back(item);
  }
  if (row.empty()) return rows;
  while (fill && !fill->is_none() && size <= 10'000 && static_cast<int64_t>(row.size()) < size) row.push_back(*fill);
  rows.emplace_back(std::move(row));
  return rows;
}

Value length(const Value& value, const Arguments&) {
  if (value.is_undefined()) return int64_t{0};
  if (!value.is_string() && !value.is_list() && !value.is_dict()) {
    throw Fault{"object of type '" + type_name(value) + "' has no len()"};
  }
  return static_cast<int64_t>(items_of(value).size());
}

Value end_item(const Value& value, bool last) {
  const List items = items_of(value);
  if (items.empty()) return Undefined{std::string("No ") + (last ? "last" : "first") + " item, sequence was empty."};
  return last ? items.back() : items.front();
}

Value reverse(const Value& value, const Arguments&) {
  List items = items_of(value);
  std::reverse(items.begin(), items.end());
  if (!value.is_string()) return items;
  std::string text;
  for (const Value& c : items) text += c.string();
  return text;
}

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

Value to_int(const Value& value, const Arguments& arguments) {
  const Value otherwise = argument(arguments, 0, "default", int64_t{0});
  const Value base = argument(arguments, 1, "base", int64_t{10});
  if (value.is_float()) return std::abs(value.number()) < 9e18 ? Value(static_cast<int64_t>(value.number())) : otherwise;
  if (value.is_number()) return value.integer();
  if (!value.is_string()) return otherwise;
  const std::string text = call_method(value, "strip", {}).string();
  char* end = nullptr;
  errno = 0;
  if (base.integer() != 0 && (base.integer() < 2 || base.integer() > 36)) return otherwise;
  const long long whole = std::strtoll(text.c_str(), &end, static_cast<int>(base.integer()));
  if (!text.empty() && *end == '\0' && errno == 0) return int64_t{whole};
  const double number = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::abs(number) < 9e18 ? Value(static_cast<int64_t>(number)) : otherwise;
}

Value to_float(const Value& value, const Arguments& arguments) {
  const Value otherwise = argument(arguments, 0, "default", 0.0);
  if (value.is_number()) return value.number();
  if (!value.is_string()) return otherwise;
  const std::string text = call_method(value, "strip", {}).string();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' ? Value(number) : otherwise;
}

Value round(const Value& value, const Arguments& arguments) {
  const double scale = std::pow(10.0, static_cast<double>(argument(arguments, 0, "precision", int64_t{0}).integer()));
  const std::string method = text_of(argument(arguments, 1, "method", "common"));
  const double x = defined(value).number() * scale;
  if (method == "ceil") return std::ceil(x) / scale;
  if (method == "floor") return std::floor(x) / scale;
  return std::nearbyint(x) / scale;
}

Value absolute(const Value& value, const Arguments&) {
  if (!defined(value).is_number()) throw Fault{"bad operand type for abs(): '" + type_name(value) + "'"};
  return value.is_float() ? Value(std::abs(value.number())) : value.integer() < 0 ? unary("-", value) : value;
}

Value default_value(const Value& value, const Arguments& arguments) {
  const bool also_false = truthy(argument(arguments, 1, "boolean", false));
  return value.is_undefined() || (also_false && !truthy(value)) ? argument(arguments, 0, "default_value", "") : value;
}

Value items(const Value& value, const Arguments&) {
  if (value.is_undefined()) return List{};
  if (!value.is_dict()) throw Fault{"Can only get item pairs from a mapping."};
  return call_method(value, "items", {});
}

Value tojson(const Value& value, const Arguments& arguments) {
  JsonStyle style;
  style.ensure_ascii = truthy(argument(arguments, 0, "ensure_ascii", false));
  const Value indent_value = argument(arguments, 1, "indent", Value());
  if (!indent_value.is_none()) {
    style.indent = static_cast<int>(std::clamp<int64_t>(indent_value.integer(), 0, 100));
    style.item_separator = ",";
  }
  const Value separators = argument(arguments, 2, "separators", Value());
  if (separators.is_list() && separators.list().size() == 2) {
    style.item_separator = text_of(separators.list()[0]);
    style.key_separator = text_of(separators.list()[1]);
  }
  style.sort_keys = truthy(argument(arguments, 3, "sort_keys", false));
  return json_text(value, style);
}

Value wordcount(const Value& value, const Arguments&) {
  return static_cast<int64_t>(call_method(text_of(value), "split", {}).list().size());
}

Filter text_filter(std::string (*change)(const std::string&)) {
  return [change](const Value& value, const Arguments&) { return Value(change(text_of(value))); };
}

}  // namespace

const std::map<std::string, Filter>& filters() {
  static const std::map<std::string, Filter> kFilters = {
      {"abs", absolute},
      {"batch", batch},
      {"capitalize", text_filter(capitalize)},
      {"count", length},
      {"d", default_value},
      {"default", default_value},
      {"dictsort", dictsort},
      {"e", escape},
      {"escape", escape},
      {"float", to_float},
      {"groupby", groupby},
      {"indent", indent},
      {"int", to_int},
      {"items", items},
      {"join", join},
      {"length", length},
      {"lower", text_filter(lower)},
      {"map", map},
      {"reverse", reverse},
      {"round", round},
      {"sort", sorted},
      {"sum", sum},
      {"title", text_filter(title)},
      {"tojson", tojson},
      {"unique", unique},
      {"upper", text_filter(upper)},
      {"wordcount", wordcount},
      {"first", [](const Value& v, const Arguments&) { return end_item(v, false); }},
      {"last", [](const Value& v, const Arguments&) { return end_item(v, true); }},
      {"list", [](const Value& v, const Arguments&) { return Value(items_of(v)); }},
      {"max", [](const Value& v, const Arguments& a) { return extreme(v, a, 1); }},
      {"min", [](const Value& v, const Arguments& a) { return extreme(v, a, -1); }},
      {"safe", [](const Value& v, const Arguments&) { return v; }},
      {"string", [](const Value& v, const Arguments&) { return Value(text_of(v)); }},
      {"select", [](const Value& v, const Arguments& a) { return select(v, a, false, true); }},
      {"reject", [](const Value& v, const Arguments& a) { return select(v, a, false, false); }},
      {"selectattr", [](const Value& v, const Arguments& a) { return select(v, a, true, true); }},
      {"rejectattr", [](const Value& v, const Arguments& a) { return select(v, a, true, false); }},
      {"trim", [](const Value& v, const Arguments& a) { return call_method(text_of(v), "strip", a); }},
      {"replace", [](const Value& v, const Arguments& a) { return call_method(text_of(v), "replace", a); }},
      {"format",
       [](const Value& v, const Arguments& a) { return Value(percent_format(text_of(v), Value::tuple(a.positional))); }},
      {"attr", [](const Value& v, const Arguments& a) { return method_of(v, text_of(needed(a, 0, "name"))); }},
  };
  return kFilters;
}

Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments) {
  const auto found = filters().find(name);
  if (found == filters().end()) throw Fault{"No filter named '" + name + "'."};
  return found->second(value, arguments);
}

}  // namespace tp::jinja
