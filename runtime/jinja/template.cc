#include "runtime/jinja/template.h"

#include "runtime/jinja/interpreter.h"
#include "runtime/jinja/parser.h"
#include "runtime/text/utf8.h"
#include "sharding/error.h"

namespace tp::jinja {
namespace {

template <typename Action>
auto with_errors(const std::string& name, Action&& action) {
  try {
    return action();
  } catch (const Fault& fault) {
    throw Error(name + ":" + std::to_string(fault.at.line) + ":" + std::to_string(fault.at.column), fault.message);
  }
}

}  // namespace

Template::Template(std::string_view source, std::string name)
    : name_(std::move(name)), body_(with_errors(name_, [&] { return parse(valid_utf8(source)); })) {}

std::string Template::render(std::map<std::string, Value> variables) const {
  return with_errors(name_, [&] { return Interpreter().run(body_, std::move(variables)); });
}

}  // namespace tp::jinja
