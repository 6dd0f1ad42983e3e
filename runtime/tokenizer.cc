#include "runtime/tokenizer.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "runtime/text/added_tokens.h"
#include "runtime/text/decoder.h"
#include "runtime/text/json_node.h"
#include "runtime/text/model.h"
#include "runtime/text/normalizer.h"
#include "runtime/text/post_processor.h"
#include "runtime/text/pre_tokenizer.h"
#include "runtime/text/tokenizer_file.h"
#include "runtime/text/utf8.h"
#include "sharding/error.h"
#include "sharding/json_document.h"

namespace tp {
namespace {

// The end of a chain of decoders.
class TextCollector : public TokenSink {
 public:
  void text(std::string_view part) override { text_ += part; }
  void end_token() override {}
  void finish() override {}
  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

template <typename Part>
std::unique_ptr<Part> read_part(const JsonNode& root, const std::string& key, std::unique_ptr<Part> (*read)(const JsonNode&)) {
  const auto node = root.find(key);
  return node ? read(*node) : nullptr;
}

class HfTokenizer : public Tokenizer {
 public:
  // "truncation" and "padding" are left out: transformers sets both for each call and by default neither.
  HfTokenizer(const JsonNode& root, ModelTables& tables)
      : model_(read_model(root.at("model"), tables)),
        normalizer_(read_part(root, "normalizer", read_normalizer)),
        pre_tokenizer_(read_part(root, "pre_tokenizer", read_pre_tokenizer)),
        post_processor_(read_part(root, "post_processor", read_post_processor)),
        decoder_(read_part(root, "decoder", read_decoder)) {
    static const Json kNone = Json::array();
    added_.emplace(root.find("added_tokens").value_or(JsonNode(kNone, root.file())), *model_, normalizer_.get());
    if (!decoder_) decoder_ = joining_decoder();
  }

  std::vector<int32_t> encode(std::string_view text, bool add_special) const override {
    Pieces pieces = added_->extract(valid_utf8(text), normalizer_.get());
    if (pre_tokenizer_) pre_tokenizer_->apply(pieces);
    std::vector<int32_t> ids = tokenized(pieces);
    if (post_processor_) post_processor_->apply(ids, add_special);
    return ids;
  }

  std::string decode(const std::vector<int32_t>& ids, bool skip_special) const override;
  std::unique_ptr<StreamDecoder> stream(bool skip_special) const override;

  int32_t vocab_size() const override { return std::max(model_->largest_id(), added_->largest_id()) + 1; }
  int32_t token_to_id(std::string_view token) const override {
    const int32_t id = added_->token_to_id(token);
    return id >= 0 ? id : model_->token_to_id(token);
  }
  bool is_special(int32_t id) const override {
    const std::string* text = token_text(id);
    return text && added_->is_special(*text);
  }

  // What decoders get for an id; nullptr when there is no such token.
  const std::string* token_text(int32_t id) const {
    const std::string* text = added_->id_to_text(id);
    return text ? text : model_->id_to_token(id);
  }
  const Decoder& decoder() const { return *decoder_; }

 private:
  // Most words of a text are there more than once.
  std::vector<int32_t> tokenized(const Pieces& pieces) const {
    struct Range {
      size_t begin, size;
    };
    std::unordered_map<std::string_view, Range> seen;
    std::vector<int32_t> ids;
    for (const Piece& piece : pieces) {
      if (piece.id >= 0) {
        ids.push_back(piece.id);
        continue;
      }
      const auto [known, is_new] = seen.try_emplace(piece.text, Range{ids.size(), 0});
      if (is_new) {
        model_->tokenize(piece.text, ids);
        known->second.size = ids.size() - known->second.begin;
      } else {
        for (size_t i = 0; i < known->second.size; ++i) ids.push_back(ids[known->second.begin + i]);
      }
    }
    return ids;
  }

  std::unique_ptr<TokenModel> model_;
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<PostProcessor> post_processor_;
  std::unique_ptr<Decoder> decoder_;
  std::optional<AddedTokens> added_;
};

class HfStreamDecoder : public StreamDecoder {
 public:
  // `tokenizer` is kept alive by the caller (Tokenizer::stream).
  HfStreamDecoder(const HfTokenizer& tokenizer, bool skip_special)
      : tokenizer_(tokenizer), skip_special_(skip_special), filter_(tokenizer.decoder().start(collector_)) {}

  std::string push(int32_t id) override {
    take(id);
    return collector_.take();
  }
  std::string finish() override {
    filter_->finish();
    return collector_.take();
  }
  void take(int32_t id) {
    const std::string* text = tokenizer_.token_text(id);
    if (!text || (skip_special_ && tokenizer_.is_special(id))) return;
    filter_->text(*text);
    filter_->end_token();
  }

 private:
  const HfTokenizer& tokenizer_;
  bool skip_special_;
  TextCollector collector_;
  std::unique_ptr<TokenSink> filter_;
};

std::string HfTokenizer::decode(const std::vector<int32_t>& ids, bool skip_special) const {
  HfStreamDecoder decoder(*this, skip_special);
  for (const int32_t id : ids) decoder.take(id);
  return decoder.finish();
}

std::unique_ptr<StreamDecoder> HfTokenizer::stream(bool skip_special) const {
  return std::make_unique<HfStreamDecoder>(*this, skip_special);
}

}  // namespace

std::shared_ptr<const Tokenizer> Tokenizer::load(const std::filesystem::path& path) {
  const std::filesystem::path file = std::filesystem::is_directory(path) ? path / "tokenizer.json" : path;
  if (!std::filesystem::exists(file)) {
    throw Error(file.string(), "there is no such file", "give a tokenizer.json, or a directory that has one, with --tokenizer");
  }
  return parse(read_text_file(file, kTokenizerFileLimits.size_bytes), file.string());
}

std::shared_ptr<const Tokenizer> Tokenizer::parse(std::string_view text, const std::string& name) {
  TokenizerFile file = read_tokenizer_file(text, name);
  return std::make_shared<HfTokenizer>(JsonNode(file.document, name), file.tables);
}

}  // namespace tp
