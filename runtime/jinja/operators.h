#pragma once

#include <optional>
#include <string>

#include "runtime/jinja/value.h"

namespace tp::jinja {

// Python's operators. All throw Fault with Python's message.
Value binary(const std::string& symbol, const Value& a, const Value& b);  // + - * / // % ** ~
Value unary(const std::string& symbol, const Value& a);                   // + -
bool contains(const Value& container, const Value& item);
bool compare_values(const std::string& symbol, const Value& a, const Value& b);  // == != < <= > >= in, not in

// value.name and value[key] as Jinja looks them up; an undefined value when there is none. Methods are in methods.h.
Value item_of(const Value& value, const Value& key);
Value slice_of(const Value& value, const Value& begin, const Value& end, const Value& step);

}  // namespace tp::jinja
