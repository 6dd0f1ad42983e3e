#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/json_node.h"
#include "runtime/text/tokenizer_file.h"

namespace tp {

// Turns one word into ids.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the ids of `word` (not empty). Throws Error when a character is unknown and the model needs a token for that.
  virtual void tokenize(std::string_view word, std::vector<int32_t>& ids) const = 0;
  virtual int32_t token_to_id(std::string_view token) const = 0;  // -1 = none
  virtual const std::string* id_to_token(int32_t id) const = 0;   // nullptr = none
  virtual int32_t size() const = 0;                               // entries of the vocabulary
  virtual int32_t largest_id() const = 0;                         // -1 when there are none
};

// `node` is tokenizer.json's "model", `tables` what was read of it beside the document. Throws Error for a type that is not
// supported.
std::unique_ptr<TokenModel> read_model(const JsonNode& node, ModelTables& tables);
std::unique_ptr<TokenModel> read_bpe(const JsonNode& node, ModelTables& tables);
std::unique_ptr<TokenModel> read_unigram(const JsonNode& node, ModelTables& tables);
std::unique_ptr<TokenModel> read_word_piece(const JsonNode& node, ModelTables& tables);
std::unique_ptr<TokenModel> read_word_level(const JsonNode& node, ModelTables& tables);

}  // namespace tp
