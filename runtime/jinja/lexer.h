#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/jinja/value.h"

namespace tp::jinja {

enum class TokenKind {
  kText,
  kPrintBegin,
  kPrintEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind;
  std::string text;  // kText and kString: the content, escapes resolved; else as written
  Position at;
};

// The tokens of a template with trim_blocks and lstrip_blocks set, as transformers does: the first line end after a block
// goes, and so do blanks before a block that begins its line. One line end at the end of the template goes too. Throws Fault.
std::vector<Token> tokenize(std::string_view source);

}  // namespace tp::jinja
