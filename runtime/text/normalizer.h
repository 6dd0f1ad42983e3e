#pragma once

#include <memory>

#include "runtime/text/json_node.h"
#include "runtime/text/piece.h"

namespace tp {

// Rewrites text before it is split. Source of each rule: the Rust crate `tokenizers`, module of the same name.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(Piece& piece) const = 0;
};

// `node` is tokenizer.json's "normalizer". Throws Error for a type that is not supported.
std::unique_ptr<Normalizer> read_normalizer(const JsonNode& node);

}  // namespace tp
