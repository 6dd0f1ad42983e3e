#pragma once

#include <string_view>

#include "runtime/jinja/syntax.h"

namespace tp::jinja {

// The statements of a template. Throws Fault with its place for what is not Jinja or not supported here (include, import,
// extends, block, recursive loops): nothing is passed over.
Body parse(std::string_view source);

}  // namespace tp::jinja
