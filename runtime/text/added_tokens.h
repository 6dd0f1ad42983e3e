#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/text/json_node.h"
#include "runtime/text/model.h"
#include "runtime/text/normalizer.h"
#include "runtime/text/piece.h"

namespace tp {

// Finds the leftmost and there the longest of a set of texts.
class TextMatcher {
 public:
  void add(std::string_view text, int32_t value);
  struct Match {
    size_t begin, end;
    int32_t value;
  };
  // The first match at or after `from`; false when there is none.
  bool find(std::string_view text, size_t from, Match& match) const;

 private:
  struct Node {
    std::unordered_map<char, int32_t> next;
    int32_t value = -1;
  };
  std::vector<Node> nodes_ = {{}};
  std::array<bool, 256> begins_ = {};  // bytes that a text begins with
};

// The tokens of tokenizer.json's "added_tokens": looked for in the text before it is tokenized, those with `normalized` after
// normalization. Ids follow the reference: a token that the model knows has the model's id, others follow its vocabulary in
// the file's order.
class AddedTokens {
 public:
  AddedTokens(const JsonNode& node, const TokenModel& model, const Normalizer* normalizer);

  // `text` cut into normalized pieces, added tokens as pieces with their id.
  Pieces extract(std::string text, const Normalizer* normalizer) const;

  int32_t token_to_id(std::string_view token) const;  // -1 = none
  const std::string* id_to_text(int32_t id) const;    // as decoders get it: normalized where the token is; nullptr = none
  bool is_special(const std::string& token) const { return special_.contains(token); }
  int32_t largest_id() const;  // -1 = none

 private:
  struct Token {
    std::string content;
    std::string normalized;  // what is matched and decoded
    bool single_word, lstrip, rstrip, is_normalized, special;
  };
  void split(Pieces& pieces, const TextMatcher& matcher) const;
  void split_piece(const Piece& piece, const TextMatcher& matcher, Pieces& out) const;

  std::unordered_map<int32_t, Token> by_id_;
  std::unordered_map<std::string, int32_t> by_content_;
  std::unordered_set<std::string> special_;
  TextMatcher raw_, normalized_;
};

}  // namespace tp
