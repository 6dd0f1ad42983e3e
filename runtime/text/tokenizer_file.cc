#include "runtime/text/tokenizer_file.h"

#include <optional>

namespace tp {
namespace {

class Reader : public JsonDocumentReader {
 public:
  Reader(std::string_view text, const std::string& name) : JsonDocumentReader(text, name, kTokenizerFileLimits), name_(name) {}
  ModelTables take_tables() { return std::move(tables_); }

 protected:
  void on_key(std::string key) override {
    if (table_ == Table::kVocabulary && depth() == kTableDepth) {
      if (tables_.vocabulary.id(key) >= 0) fail_at_key("duplicate key `" + key + "`");
      token_ = std::move(key);
      return;
    }
    if (table_ == Table::kMerges) fail_merge();
    if (depth() == 1) part_ = key;
    if (depth() == 2) field_ = key;
    JsonDocumentReader::on_key(std::move(key));
  }

  void on_start(bool object) override {
    if (table_ == Table::kVocabulary)
      fail_token(object ? "expected a whole number, found an object" : "expected a whole number, found an array");
    if (table_ == Table::kMerges) {
      if (object || depth() != kTableDepth + 1) fail_merge();
      pair_.clear();
      return;
    }
    if (depth() == kTableDepth && part_ == "model") {
      if (object && field_ == "vocab") table_ = Table::kVocabulary;
      if (!object && field_ == "merges") table_ = Table::kMerges;
    }
    JsonDocumentReader::on_start(object);
  }

  void on_end() override {
    if (table_ == Table::kMerges && depth() == kTableDepth + 1) {
      if (pair_.size() != 2) fail_merge();
      add_merge(std::move(pair_[0]), std::move(pair_[1]));
      return;
    }
    if (depth() == kTableDepth) table_ = Table::kNone;
    JsonDocumentReader::on_end();
  }

  void on_scalar(Json value) override {
    if (table_ == Table::kMerges) fail_merge();
    if (table_ == Table::kNone) return JsonDocumentReader::on_scalar(std::move(value));
    const bool sound = value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{kLargestTokenId};
    if (!sound) JsonNode(value, name_, "model.vocab." + token_).whole(0, kLargestTokenId);
    const auto id = value.get<int32_t>();
    if (const std::string* other = tables_.vocabulary.token(id)) {
      JsonNode(value, name_, "model.vocab")
          .fail("`" + *other + "` and `" + token_ + "` both have the id " + std::to_string(id));
    }
    tables_.vocabulary.add(std::move(token_), id);
  }

  void on_string(std::string value) override {
    if (table_ != Table::kMerges) return JsonDocumentReader::on_string(std::move(value));
    if (depth() == kTableDepth + 2) {
      if (pair_.size() == 2) fail_merge();
      pair_.push_back(std::move(value));
      return;
    }
    // "left right" (older files), after a line that tells a version.
    if (value.starts_with("#version")) {
      ++merge_index_;
      return;
    }
    const size_t space = value.find(' ');
    if (space == std::string::npos || value.find(' ', space + 1) != std::string::npos) fail_merge();
    add_merge(value.substr(0, space), value.substr(space + 1));
  }

 private:
  enum class Table { kNone, kVocabulary, kMerges };
  static constexpr int kTableDepth = 3;  // of the root's model's tables

  void add_merge(std::string left, std::string right) {
    tables_.merges.push_back({std::move(left), std::move(right), merge_index_++});
  }
  [[noreturn]] void fail_token(const std::string& what) const { JsonNode(Json(), name_, "model.vocab." + token_).fail(what); }
  [[noreturn]] void fail_merge() const {
    JsonNode(Json(), name_, "model.merges[" + std::to_string(merge_index_) + "]").fail("expected two tokens");
  }

  std::string name_;
  std::string part_, field_;  // the keys of the root and of its part that were read last
  Table table_ = Table::kNone;
  std::string token_;
  std::vector<std::string> pair_;
  int32_t merge_index_ = 0;
  ModelTables tables_;
};

}  // namespace

Vocabulary ModelTables::take_vocabulary(const JsonNode& node) {
  const JsonNode vocab = node.at("vocab");
  if (!vocab.value().is_object()) vocab.fail("expected an object of tokens and ids");
  return std::move(vocabulary);
}

TokenizerFile read_tokenizer_file(std::string_view text, const std::string& name) {
  Reader reader(text, name);
  reader.read();
  TokenizerFile file{reader.take(), reader.take_tables()};
  return file;
}

}  // namespace tp
