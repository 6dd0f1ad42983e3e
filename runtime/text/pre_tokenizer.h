#pragma once

#include <memory>

#include "runtime/text/json_node.h"
#include "runtime/text/piece.h"

namespace tp {

// Splits text into the words that the model tokenizes one by one. Source of each rule: the Rust crate `tokenizers`, module
// of the same name.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Replaces the pieces that are text; added tokens stay as they are. No piece is empty.
  virtual void apply(Pieces& pieces) const = 0;
};

// `node` is tokenizer.json's "pre_tokenizer". Throws Error for a type that is not supported.
std::unique_ptr<PreTokenizer> read_pre_tokenizer(const JsonNode& node);

}  // namespace tp
