#pragma once

#include <map>
#include <string>

#include "runtime/jinja/builtins.h"

namespace tp::jinja {

// Each puts its part into the table of filters.
void add_list_filters(std::map<std::string, Filter>& filters);
void add_number_filters(std::map<std::string, Filter>& filters);
void add_text_filters(std::map<std::string, Filter>& filters);

// Calls the method `name` of `value`; throws Fault when there is none.
Value call_method(const Value& value, const std::string& name, const Arguments& arguments);

}  // namespace tp::jinja
