#include "runtime/text/added_tokens.h"

#include <algorithm>

#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"
#include "runtime/text/vocabulary.h"

namespace tp {
namespace {

size_t spaces_before(std::string_view text, size_t end) {
  while (end > 0) {
    const CodePoint c = code_point_before(text, end);
    if (!is_whitespace(c.value)) break;
    end -= c.size_bytes;
  }
  return end;
}

size_t spaces_after(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    const CodePoint c = code_point_at(text, begin);
    if (!is_whitespace(c.value)) break;
    begin += c.size_bytes;
  }
  return begin;
}

bool stands_alone(std::string_view text, size_t begin, size_t end) {
  return (begin == 0 || !is_word(code_point_before(text, begin).value)) &&
         (end == text.size() || !is_word(code_point_at(text, end).value));
}

}  // namespace

void TextMatcher::add(std::string_view text, int32_t value) {
  if (text.empty()) return;
  begins_[static_cast<unsigned char>(text[0])] = true;
  int32_t node = 0;
  for (const char c : text) {
    const auto [found, is_new] = nodes_[node].next.try_emplace(c, static_cast<int32_t>(nodes_.size()));
    node = found->second;
    if (is_new) nodes_.emplace_back();
  }
  if (nodes_[node].value < 0) nodes_[node].value = value;
}

bool TextMatcher::find(std::string_view text, size_t from, Match& match) const {
  if (nodes_[0].next.empty()) return false;
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!begins_[static_cast<unsigned char>(text[begin])]) continue;
    bool found = false;
    int32_t node = 0;
    for (size_t at = begin; at < text.size(); ++at) {
      const auto next = nodes_[node].next.find(text[at]);
      if (next == nodes_[node].next.end()) break;
      node = next->second;
      if (nodes_[node].value < 0) continue;
      match = {begin, at + 1, nodes_[node].value};
      found = true;
    }
    if (found) return true;
  }
  return false;
}

AddedTokens::AddedTokens(const JsonNode& node, const TokenModel& model, const Normalizer* normalizer) {
  int32_t next_id = model.size();
  for (const JsonNode& item : node.items()) {
    item.at("id").whole(0, kLargestTokenId);
    Token token{item.at("content").text(),     "",
                item.at("single_word").flag(), item.at("lstrip").flag(),
                item.at("rstrip").flag(),      item.at("normalized").flag(),
                item.at("special").flag()};
    if (token.content.empty()) continue;
    int32_t id = token_to_id(token.content);
    if (id < 0) id = model.token_to_id(token.content);
    if (id < 0) id = next_id++;
    token.normalized = token.content;
    if (token.is_normalized && normalizer) {
      Piece piece{token.content};
      normalizer->apply(piece);
      token.normalized = std::move(piece.text);
    }
    by_content_[token.content] = id;
    if (token.special) special_.insert(token.content);
    by_id_[id] = std::move(token);
  }
  std::vector<int32_t> ids;
  for (const auto& [id, token] : by_id_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const int32_t id : ids) {
    const Token& token = by_id_.at(id);
    (token.is_normalized ? normalized_ : raw_).add(token.normalized, id);
  }
}

Pieces AddedTokens::extract(std::string text, const Normalizer* normalizer) const {
  if (text.empty()) return {};
  const size_t first = code_point_at(text, 0).size_bytes;
  Pieces pieces = {{std::move(text), -1, first, true}};
  split(pieces, raw_);
  if (normalizer) {
    for (Piece& piece : pieces) {
      if (piece.id < 0) normalizer->apply(piece);
    }
  }
  split(pieces, normalized_);
  return pieces;
}

void AddedTokens::split(Pieces& pieces, const TextMatcher& matcher) const {
  Pieces out;
  for (Piece& piece : pieces) {
    if (piece.id >= 0) {
      out.push_back(std::move(piece));
    } else {
      split_piece(piece, matcher, out);
    }
  }
  pieces = std::move(out);
}

void AddedTokens::split_piece(const Piece& piece, const TextMatcher& matcher, Pieces& out) const {
  const std::string_view text = piece.text;
  const auto push = [&](size_t begin, size_t end, int32_t id) {
    if (begin >= end) return;
    out.push_back(piece.slice(begin, end));
    out.back().id = id;
  };
  size_t copied = 0;
  TextMatcher::Match match{};
  for (size_t from = 0; matcher.find(text, from, match);) {
    from = match.end;
    const Token& token = by_id_.at(match.value);
    size_t begin = match.begin, end = match.end;
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    // The match before may have taken the spaces already, and with them all of this one.
    if (token.lstrip) begin = std::max(spaces_before(text, begin), copied);
    if (token.rstrip) end = spaces_after(text, end);
    if (copied < begin) push(copied, begin, -1);
    push(begin, end, match.value);
    copied = end;
  }
  push(copied, text.size(), -1);
}

int32_t AddedTokens::token_to_id(std::string_view token) const {
  const auto found = by_content_.find(std::string(token));
  return found == by_content_.end() ? -1 : found->second;
}

const std::string* AddedTokens::id_to_text(int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second.normalized;
}

int32_t AddedTokens::largest_id() const {
  int32_t largest = -1;
  for (const auto& [id, token] : by_id_) largest = std::max(largest, id);
  return largest;
}

}  // namespace tp
