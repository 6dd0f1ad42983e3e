#pragma once

#include "runtime/text/json_node.h"
#include "runtime/text/regex.h"

namespace tp {

// {"String": "…"} or {"Regex": "…"}, as Split and Replace have it.
Regex read_pattern(const JsonNode& node);

}  // namespace tp
