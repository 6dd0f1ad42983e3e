#include "runtime/text/pattern.h"

#include <stdexcept>

namespace tp {

Regex read_pattern(const JsonNode& node) {
  try {
    if (const auto regex = node.find("Regex")) return Regex::pattern(regex->text());
    if (const auto text = node.find("String")) return Regex::literal(text->text());
  } catch (const std::invalid_argument& e) {
    node.fail(std::string("the regular expression cannot be used: ") + e.what());
  }
  node.fail("expected {\"String\": …} or {\"Regex\": …}");
}

}  // namespace tp
