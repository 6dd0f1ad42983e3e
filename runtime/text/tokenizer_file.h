#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/text/json_node.h"
#include "runtime/text/vocabulary.h"

namespace tp {

// A vocabulary of 260 thousand tokens with its merges has 2.3 million values.
inline constexpr JsonLimits kTokenizerFileLimits = {.values = 20'000'000, .size_bytes = int64_t{512} << 20};

// The large tables of a tokenizer.json's "model", read without a document of them.
struct ModelTables {
  Vocabulary vocabulary;  // "vocab" where it is an object
  struct MergeText {
    std::string left, right;
    int32_t index;  // in the file's array
  };
  std::vector<MergeText> merges;  // "merges", the first one first

  // The vocabulary, once, where the model asks for it. `node` is the "model".
  Vocabulary take_vocabulary(const JsonNode& node);
};

struct TokenizerFile {
  Json document;  // with "model.vocab" {} and "model.merges" [] where they are in `tables`
  ModelTables tables;
};

// Throws Error: bad JSON (line and column), an id or a merge that is none. `name` is the file's, for messages.
TokenizerFile read_tokenizer_file(std::string_view text, const std::string& name);

}  // namespace tp
