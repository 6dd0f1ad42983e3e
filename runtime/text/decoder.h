#pragma once

#include <memory>
#include <string_view>

#include "runtime/text/json_node.h"

namespace tp {

// Takes tokens one after another, each as text() any number of times and end_token(), and after the last one finish().
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void text(std::string_view part) = 0;
  virtual void end_token() = 0;
  virtual void finish() = 0;
};

// One step of turning tokens into text. It works as a filter that passes on what is certain and holds back the rest, so that
// decoding at once and token by token are the same code. All text is valid UTF-8 and parts end between characters.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // A filter with its own state that writes to `next`, which outlives it.
  virtual std::unique_ptr<TokenSink> start(TokenSink& next) const = 0;
};

// `node` is tokenizer.json's "decoder". Throws Error for a type that is not supported.
std::unique_ptr<Decoder> read_decoder(const JsonNode& node);
// Without a decoder: tokens with a space between them.
std::unique_ptr<Decoder> joining_decoder();

}  // namespace tp
