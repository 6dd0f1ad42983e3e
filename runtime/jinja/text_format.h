#pragma once

#include <string>

#include "runtime/jinja/value.h"

namespace tp::jinja {

// Python's `format % arguments`; a tuple has several of them and a dict named ones. Throws Fault with Python's message.
std::string percent_format(const std::string& format, const Value& arguments);

// Python's format.format(…): {}, {0}, {name}, {0[key]}, !r and !s, and what may follow a colon. Throws Fault.
std::string brace_format(const std::string& format, const Arguments& arguments);

// `text` in the middle of `width` characters ('^'), at their start ('<') or at their end ('>').
std::string padded(const std::string& text, int64_t width, char align, const std::string& fill);

}  // namespace tp::jinja
