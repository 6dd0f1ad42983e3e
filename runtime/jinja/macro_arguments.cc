#include "runtime/jinja/macro_arguments.h"

#include <algorithm>

namespace tp::jinja {
namespace {

// A named argument is for the parameters that no positional one is for.
bool is_parameter(const Statement& macro, const std::string& name, size_t positional) {
  for (size_t i = positional; i < macro.parameters.size(); ++i) {
    if (macro.parameters[i].name == name) return true;
  }
  return false;
}

}  // namespace

std::map<std::string, Value> other_arguments(const Statement& macro, const std::string& name, const Arguments& arguments) {
  std::map<std::string, Value> values;
  const auto asks_for = [&](const char* what) { return macro.asks_for.contains(what); };
  const size_t given = arguments.positional.size(), taken = std::min(given, macro.parameters.size());
  if (given > taken && !asks_for("varargs"))
    throw Fault{"macro '" + name + "' takes not more than " + std::to_string(taken) + " argument(s)"};
  const auto rest = arguments.positional.begin() + static_cast<std::ptrdiff_t>(taken);
  if (asks_for("varargs")) values["varargs"] = Value::tuple({rest, arguments.positional.end()});
  if (asks_for("caller")) values["caller"] = Undefined{"No caller defined"};
  Dict named;
  for (const auto& [key, value] : arguments.named) {
    if (is_parameter(macro, key, given)) continue;
    if (key == "caller" && asks_for("caller")) {
      values["caller"] = value;
    } else if (asks_for("kwargs")) {
      named.set(key, value);
    } else if (key == "caller") {
      throw Fault{"macro '" + name + "' was invoked with two values for the special caller argument."};
    } else {
      throw Fault{"macro '" + name + "' takes no keyword argument '" + key + "'"};
    }
  }
  if (asks_for("kwargs")) values["kwargs"] = named;
  return values;
}

}  // namespace tp::jinja
