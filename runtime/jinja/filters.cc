#include <algorithm>

#include "runtime/jinja/filter_groups.h"
#include "runtime/jinja/json_text.h"

namespace tp::jinja {
namespace {

Value length(const Value& value, const Arguments&) {
  if (value.is_undefined()) return int64_t{0};
  if (!value.is_string() && !value.is_list() && !value.is_dict() && !value.is_view()) {
    throw Fault{"object of type '" + type_name(value) + "' has no len()"};
  }
  return static_cast<int64_t>(items_of(value).size());
}

Value default_value(const Value& value, const Arguments& arguments) {
  const bool also_false = truthy(argument(arguments, 1, "boolean", false));
  return value.is_undefined() || (also_false && !truthy(value)) ? argument(arguments, 0, "default_value", "") : value;
}

Value items(const Value& value, const Arguments&) {
  if (value.is_undefined()) return Value::iterator("generator", {});
  if (!value.is_dict()) throw Fault{"Can only get item pairs from a mapping."};
  return Value::iterator("generator", items_of(call_method(value, "items", {})));
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

std::map<std::string, Filter> all_filters() {
  std::map<std::string, Filter> filters = {
      {"count", length},
      {"d", default_value},
      {"default", default_value},
      {"items", items},
      {"length", length},
      {"tojson", tojson},
      {"safe", [](const Value& v, const Arguments&) { return v; }},
      {"attr", [](const Value& v, const Arguments& a) { return method_of(v, text_of(needed(a, 0, "name"))); }},
  };
  add_list_filters(filters);
  add_number_filters(filters);
  add_text_filters(filters);
  return filters;
}

}  // namespace

Value call_method(const Value& value, const std::string& name, const Arguments& arguments) {
  const Value method = method_of(value, name);
  return defined(method).function().call(arguments);
}

const std::map<std::string, Filter>& filters() {
  static const std::map<std::string, Filter> kFilters = all_filters();
  return kFilters;
}

Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments) {
  const auto found = filters().find(name);
  if (found == filters().end()) throw Fault{"No filter named '" + name + "'."};
  return found->second(value, arguments);
}

}  // namespace tp::jinja
