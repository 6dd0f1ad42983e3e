#pragma once

#include <string>

#include "runtime/chat_template.h"
#include "sharding/error.h"

namespace tp {

// A template, and what it is rendered to or refused with.
struct Case {
  const char* text;
  const char* expected;
};

// The template `text` of the file `name`, rendered for no messages, no tools and no variables.
inline std::string rendered_as(const std::string& name, const std::string& text) {
  return render_chat(text, name, OrderedJson::array(), nullptr, false, OrderedJson::object());
}

// What it is refused with.
inline std::string error_as(const std::string& name, const std::string& text) {
  try {
    return "no error: " + rendered_as(name, text);
  } catch (const Error& e) {
    return e.text();
  }
}

}  // namespace tp
