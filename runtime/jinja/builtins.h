#pragma once

#include <functional>
#include <map>
#include <string>

#include "runtime/jinja/value.h"

namespace tp::jinja {

// value | name(arguments), and `value is name(arguments)`. A name that is not in the table is an error where it is used.
using Filter = std::function<Value(const Value&, const Arguments&)>;
using Test = std::function<bool(const Value&, const Arguments&)>;
const std::map<std::string, Filter>& filters();
const std::map<std::string, Test>& tests();

Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments);
bool apply_test(const std::string& name, const Value& value, const Arguments& arguments);

// range, dict, namespace, raise_exception, strftime_now.
const std::map<std::string, Value>& globals();

// The method `name` of a string, list or dict, bound to it; undefined when there is none. What would change a list or dict
// is refused, as the sandbox of transformers does.
Value method_of(const Value& value, const std::string& name);

// Argument `index` or `name`, `otherwise` when it is not given.
Value argument(const Arguments& arguments, size_t index, const char* name, Value otherwise);
// One that must be given.
const Value& needed(const Arguments& arguments, size_t index, const char* name);

}  // namespace tp::jinja
