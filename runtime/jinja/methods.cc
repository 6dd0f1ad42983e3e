#include <algorithm>
#include <set>

#include "runtime/jinja/builtins.h"
#include "runtime/jinja/string_methods.h"

namespace tp::jinja {
namespace {

const std::map<std::string, Method>& dict_methods() {
  static const std::map<std::string, Method> kMethods = {
      {"get",
       [](const Value& v, const Arguments& a) {
         const Value* found = v.dict().find(needed(a, 0, "key"));
         return found ? *found : argument(a, 1, "default", Value());
       }},
      {"keys", [](const Value& v, const Arguments&) { return Value::shaped(Shape::kKeys, items_of(v)); }},
      {"values",
       [](const Value& v, const Arguments&) {
         List values;
         for (const auto& [key, value] : v.dict().items) values.push_back(value);
         return Value::shaped(Shape::kValues, std::move(values));
       }},
      {"items",
       [](const Value& v, const Arguments&) {
         List pairs;
         for (const auto& [key, value] : v.dict().items) pairs.push_back(Value::tuple({key, value}));
         return Value::shaped(Shape::kItems, std::move(pairs));
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
