#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/jinja/syntax.h"

namespace tp::jinja {

// A template in the Jinja that chat templates are written in, with the settings of transformers: trim_blocks, lstrip_blocks,
// break and continue, {% generation %}, its tojson, raise_exception and strftime_now.
class Template {
 public:
  // `name` is for messages. Throws Error{where = "name:line:column"} for what is not Jinja or not supported.
  Template(std::string_view source, std::string name);

  // Throws Error{where = "name:line:column"}; the message of raise_exception as it is.
  std::string render(std::map<std::string, Value> variables) const;

 private:
  std::string name_;
  Body body_;
};

}  // namespace tp::jinja
