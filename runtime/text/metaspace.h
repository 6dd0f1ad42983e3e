#pragma once

#include <string>

#include "runtime/text/json_node.h"

namespace tp {

enum class PrependScheme { kFirst, kNever, kAlways };

// Sentencepiece's visible space; both a pre-tokenizer and a decoder have these settings.
struct Metaspace {
  std::string replacement;  // one character
  PrependScheme prepend = PrependScheme::kAlways;
  bool split = true;
};
Metaspace read_metaspace(const JsonNode& node);

}  // namespace tp
