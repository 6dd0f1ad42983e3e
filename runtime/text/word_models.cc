// WordPiece (BERT) and WordLevel.
#include "runtime/text/model.h"
#include "runtime/text/utf8.h"
#include "sharding/error.h"

namespace tp {
namespace {

// What both share: a vocabulary with a token for what is not in it.
class WordVocabulary : public TokenModel {
 public:
  WordVocabulary(const JsonNode& node, ModelTables& tables)
      : vocabulary_(tables.take_vocabulary(node)), unk_token_(node.at("unk_token").text()), file_(node.file()) {}
  int32_t token_to_id(std::string_view token) const override { return vocabulary_.id(token); }
  const std::string* id_to_token(int32_t id) const override { return vocabulary_.token(id); }
  int32_t size() const override { return vocabulary_.size(); }
  int32_t largest_id() const override { return vocabulary_.largest_id(); }

 protected:
  int32_t unknown_id() const {
    const int32_t id = vocabulary_.id(unk_token_);
    if (id < 0) throw Error(file_, "model.unk_token: `" + unk_token_ + "` is needed for this text and not in the vocabulary");
    return id;
  }

 private:
  Vocabulary vocabulary_;
  std::string unk_token_;
  std::string file_;
};

class WordLevel : public WordVocabulary {
 public:
  using WordVocabulary::WordVocabulary;
  void tokenize(std::string_view word, std::vector<int32_t>& ids) const override {
    const int32_t id = token_to_id(word);
    ids.push_back(id >= 0 ? id : unknown_id());
  }
};

// The longest token that the rest of the word begins with, again and again; a word with a rest that has none is unknown.
class WordPiece : public WordVocabulary {
 public:
  WordPiece(const JsonNode& node, ModelTables& tables)
      : WordVocabulary(node, tables),
        prefix_(node.at("continuing_subword_prefix").text()),
        longest_word_(node.at("max_input_chars_per_word").whole(0, INT32_MAX)) {}

  void tokenize(std::string_view word, std::vector<int32_t>& ids) const override {
    std::vector<int32_t> found;
    const bool known = characters(word) <= longest_word_ && pieces(word, found);
    if (!known) found = {unknown_id()};
    ids.insert(ids.end(), found.begin(), found.end());
  }

 private:
  static int64_t characters(std::string_view word) {
    int64_t count = 0;
    for (size_t at = 0; at < word.size(); at += code_point_at(word, at).size_bytes) ++count;
    return count;
  }

  bool pieces(std::string_view word, std::vector<int32_t>& ids) const {
    for (size_t start = 0; start < word.size();) {
      std::string candidate = start > 0 ? prefix_ : "";
      const size_t affix = candidate.size();
      candidate += word.substr(start);
      int32_t id = -1;
      while (candidate.size() > affix && (id = token_to_id(candidate)) < 0) {
        candidate.resize(candidate.size() - code_point_before(candidate, candidate.size()).size_bytes);
      }
      if (id < 0) return false;
      ids.push_back(id);
      start += candidate.size() - affix;
    }
    return true;
  }

  std::string prefix_;
  int64_t longest_word_;
};

}  // namespace

std::unique_ptr<TokenModel> read_word_level(const JsonNode& node, ModelTables& tables) {
  return std::make_unique<WordLevel>(node, tables);
}
std::unique_ptr<TokenModel> read_word_piece(const JsonNode& node, ModelTables& tables) {
  return std::make_unique<WordPiece>(node, tables);
}

}  // namespace tp
