#include "runtime/jinja/builtins.h"
#include "runtime/jinja/letter_case.h"
#include "runtime/jinja/operators.h"

namespace tp::jinja {
namespace {

Test compares(const char* symbol) {
  return [symbol](const Value& value, const Arguments& arguments) {
    return compare_values(symbol, value, needed(arguments, 0, "other"));
  };
}

Test is_kind(bool (Value::*kind)() const) {
  return [kind](const Value& value, const Arguments&) { return (value.*kind)(); };
}

int64_t remainder(const Value& value, const Value& divisor) {
  return binary("%", value, divisor).integer();
}

bool has_case(const std::string& text, std::string (*change)(const std::string&), std::string (*other)(const std::string&)) {
  return change(text) == text && other(text) != text;
}

}  // namespace

const std::map<std::string, Test>& tests() {
  static const std::map<std::string, Test> kTests = {
      {"defined", [](const Value& v, const Arguments&) { return !v.is_undefined(); }},
      {"undefined", is_kind(&Value::is_undefined)},
      {"none", is_kind(&Value::is_none)},
      {"string", is_kind(&Value::is_string)},
      {"boolean", is_kind(&Value::is_bool)},
      {"integer", is_kind(&Value::is_int)},
      {"float", is_kind(&Value::is_float)},
      {"number", is_kind(&Value::is_number)},
      {"mapping", is_kind(&Value::is_dict)},
      {"callable", is_kind(&Value::is_function)},
      {"true", [](const Value& v, const Arguments&) { return v.is_bool() && v.boolean(); }},
      {"false", [](const Value& v, const Arguments&) { return v.is_bool() && !v.boolean(); }},
      {"sequence",
       [](const Value& v, const Arguments&) { return v.is_undefined() || v.is_string() || v.is_list() || v.is_dict(); }},
      {"iterable",
       [](const Value& v, const Arguments&) {
         return v.is_undefined() || v.is_string() || v.is_list() || v.is_dict() || v.is_view() || v.is_iterator();
       }},
      {"odd", [](const Value& v, const Arguments&) { return remainder(v, int64_t{2}) == 1; }},
      {"even", [](const Value& v, const Arguments&) { return remainder(v, int64_t{2}) == 0; }},
      {"divisibleby", [](const Value& v, const Arguments& a) { return remainder(v, needed(a, 0, "num")) == 0; }},
      {"in", compares("in")},
      {"lower", [](const Value& v, const Arguments&) { return has_case(text_of(v), lower, upper); }},
      {"upper", [](const Value& v, const Arguments&) { return has_case(text_of(v), upper, lower); }},
      {"filter", [](const Value& v, const Arguments&) { return v.is_string() && filters().contains(v.string()); }},
      {"test", [](const Value& v, const Arguments&) { return v.is_string() && tests().contains(v.string()); }},
      {"sameas",
       [](const Value& v, const Arguments& a) {
         const Value& other = needed(a, 0, "other");
         return type_name(v) == type_name(other) && equal(v, other);
       }},
      {"==", compares("==")},
      {"!=", compares("!=")},
      {"<", compares("<")},
      {"<=", compares("<=")},
      {">", compares(">")},
      {">=", compares(">=")},
      {"eq", compares("==")},
      {"equalto", compares("==")},
      {"ne", compares("!=")},
      {"lt", compares("<")},
      {"lessthan", compares("<")},
      {"le", compares("<=")},
      {"gt", compares(">")},
      {"greaterthan", compares(">")},
      {"ge", compares(">=")},
  };
  return kTests;
}

bool apply_test(const std::string& name, const Value& value, const Arguments& arguments) {
  const auto found = tests().find(name);
  if (found == tests().end()) throw Fault{"No test named '" + name + "'."};
  return found->second(value, arguments);
}

}  // namespace tp::jinja
