// Byte-pair encoding, over bytes (GPT-2) or characters (sentencepiece).
#include <array>
#include <optional>

#include "runtime/text/bpe_merges.h"
#include "runtime/text/byte_tokens.h"
#include "runtime/text/model.h"
#include "runtime/text/utf8.h"
#include "sharding/error.h"

namespace tp {
namespace {

struct BpeOptions {
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;  // a word that is in the vocabulary is taken as it is
};

class Bpe : public TokenModel {
 public:
  Bpe(Vocabulary vocabulary, MergeTable merges, BpeOptions options, std::string file)
      : vocabulary_(std::move(vocabulary)), merges_(std::move(merges)), options_(std::move(options)), file_(std::move(file)) {
    bytes_ = byte_token_ids([&](const std::string& token) { return vocabulary_.id(token); });
  }

  void tokenize(std::string_view word, std::vector<int32_t>& ids) const override {
    if (options_.ignore_merges) {
      if (const int32_t id = vocabulary_.id(word); id >= 0) return ids.push_back(id);
    }
    std::vector<int32_t> symbols = first_symbols(word);
    merge_word(symbols, merges_);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
  }
  int32_t token_to_id(std::string_view token) const override { return vocabulary_.id(token); }
  const std::string* id_to_token(int32_t id) const override { return vocabulary_.token(id); }
  int32_t size() const override { return vocabulary_.size(); }
  int32_t largest_id() const override { return vocabulary_.largest_id(); }

 private:
  // One symbol per character. An unknown one becomes the tokens of its bytes, else the unknown token, else nothing.
  std::vector<int32_t> first_symbols(std::string_view word) const {
    std::vector<int32_t> symbols;
    symbols.reserve(word.size());
    // The unknown token waits for the next known character, and bytes go ahead of it: this order is the reference's.
    int32_t waiting = -1;
    std::string edited;
    for (size_t at = 0; at < word.size();) {
      const size_t end = at + code_point_at(word, at).size_bytes;
      std::string_view character = word.substr(at, end - at);
      if (at > 0 || end == word.size()) character = with_affixes(character, at > 0, end == word.size(), edited);
      at = end;
      if (const int32_t id = vocabulary_.id(character); id >= 0) {
        if (waiting >= 0) symbols.push_back(waiting);
        waiting = -1;
        symbols.push_back(id);
      } else if (!options_.byte_fallback || !append_byte_tokens(bytes_, character, symbols)) {
        if (!options_.unk_token) continue;
        if (waiting >= 0 && !options_.fuse_unk) symbols.push_back(waiting);
        waiting = unknown_id();
      }
    }
    if (waiting >= 0) symbols.push_back(waiting);
    return symbols;
  }

  std::string_view with_affixes(std::string_view character, bool continues, bool last, std::string& edited) const {
    const bool prefix = continues && !options_.continuing_subword_prefix.empty();
    const bool suffix = last && !options_.end_of_word_suffix.empty();
    if (!prefix && !suffix) return character;
    edited = prefix ? options_.continuing_subword_prefix : "";
    edited += character;
    if (suffix) edited += options_.end_of_word_suffix;
    return edited;
  }

  int32_t unknown_id() const {
    const int32_t id = vocabulary_.id(*options_.unk_token);
    if (id < 0)
      throw Error(file_, "model.unk_token: `" + *options_.unk_token + "` is needed for this text and not in the vocabulary");
    return id;
  }

  Vocabulary vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  std::string file_;
  ByteTokenIds bytes_;
};

MergeTable merge_table(const ModelTables& tables, const Vocabulary& vocabulary, const std::string& prefix,
                       const std::string& file) {
  MergeTable table(tables.merges.size());
  std::string merged;
  int32_t rank = 0;
  for (const auto& [left, right, index] : tables.merges) {
    merged = left;
    merged += right.starts_with(prefix) ? std::string_view(right).substr(prefix.size()) : right;
    const int32_t left_id = vocabulary.id(left), right_id = vocabulary.id(right), merged_id = vocabulary.id(merged);
    if (left_id < 0 || right_id < 0 || merged_id < 0) {
      const std::string& missing = left_id < 0 ? left : right_id < 0 ? right : merged;
      throw Error(file, "model.merges[" + std::to_string(index) + "]: `" + missing + "` is not in the vocabulary");
    }
    table.insert(left_id, right_id, {rank++, merged_id});
  }
  return table;
}

}  // namespace

std::unique_ptr<TokenModel> read_bpe(const JsonNode& node, ModelTables& tables) {
  if (const auto dropout = node.find("dropout"); dropout && dropout->number() != 0.0) {
    dropout->fail("dropout makes the ids random and is not supported", "set it to null");
  }
  BpeOptions options;
  if (const auto unk = node.find("unk_token")) options.unk_token = unk->text();
  options.continuing_subword_prefix = node.text("continuing_subword_prefix", "");
  options.end_of_word_suffix = node.text("end_of_word_suffix", "");
  options.fuse_unk = node.flag("fuse_unk", false);
  options.byte_fallback = node.flag("byte_fallback", false);
  options.ignore_merges = node.flag("ignore_merges", false);
  Vocabulary vocabulary = tables.take_vocabulary(node);
  if (!node.at("merges").value().is_array()) node.at("merges").fail("expected an array");
  MergeTable merges = merge_table(tables, vocabulary, options.continuing_subword_prefix, node.file());
  return std::make_unique<Bpe>(std::move(vocabulary), std::move(merges), std::move(options), node.file());
}

}  // namespace tp
