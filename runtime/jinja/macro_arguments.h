#pragma once

#include <map>
#include <string>

#include "runtime/jinja/syntax.h"

namespace tp::jinja {

// What `macro` (a macro or a call block) is called with beside its parameters: varargs, kwargs and caller where it asks for
// them. Throws Fault for arguments that it has no use for.
std::map<std::string, Value> other_arguments(const Statement& macro, const std::string& name, const Arguments& arguments);

}  // namespace tp::jinja
