#pragma once

#include <string>

#include "runtime/jinja/value.h"

namespace tp::jinja {

// Options of Python's json.dumps, as transformers' tojson filter passes them on.
struct JsonStyle {
  bool ensure_ascii = false;
  int indent = -1;  // -1 = one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

// Throws Fault for what is not JSON.
std::string json_text(const Value& value, const JsonStyle& style);

}  // namespace tp::jinja
