#pragma once

#include <functional>
#include <map>
#include <string>

#include "runtime/jinja/value.h"

namespace tp::jinja {

// A method called on its value. Throws Fault.
using Method = std::function<Value(const Value&, const Arguments&)>;

// Those of Python's str that do not need bytes or tables.
const std::map<std::string, Method>& string_methods();

}  // namespace tp::jinja
