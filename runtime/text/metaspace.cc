#include "runtime/text/metaspace.h"

#include <map>

#include "runtime/text/utf8.h"

namespace tp {

Metaspace read_metaspace(const JsonNode& node) {
  static const std::map<std::string, PrependScheme> kSchemes = {
      {"first", PrependScheme::kFirst}, {"never", PrependScheme::kNever}, {"always", PrependScheme::kAlways}};
  Metaspace options;
  const JsonNode replacement = node.at("replacement");
  options.replacement = replacement.text();
  if (options.replacement.empty() || code_point_at(options.replacement, 0).size_bytes != options.replacement.size()) {
    replacement.fail("expected one character");
  }
  if (const auto scheme = node.find("prepend_scheme")) {
    const auto found = kSchemes.find(scheme->text());
    if (found == kSchemes.end()) scheme->fail("`" + scheme->text() + "` is no scheme", "use first, never or always");
    options.prepend = found->second;
  }
  if (!node.flag("add_prefix_space", true)) {  // the older spelling of `never`
    if (options.prepend != PrependScheme::kNever) node.fail("add_prefix_space does not match prepend_scheme");
  }
  options.split = node.flag("split", true);
  return options;
}

}  // namespace tp
