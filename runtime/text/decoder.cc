#include "runtime/text/decoder.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/text/byte_level.h"
#include "runtime/text/byte_tokens.h"
#include "runtime/text/decode_filters.h"
#include "runtime/text/metaspace.h"
#include "runtime/text/pattern.h"
#include "runtime/text/utf8.h"

namespace tp {
namespace {

// A decoder whose filter F is made from the next sink and these settings.
template <typename F, typename... Settings>
class Made : public Decoder {
 public:
  explicit Made(Settings... settings) : settings_(std::move(settings)...) {}
  std::unique_ptr<TokenSink> start(TokenSink& next) const override {
    return std::apply([&](const Settings&... settings) { return std::make_unique<F>(next, settings...); }, settings_);
  }

 private:
  std::tuple<Settings...> settings_;
};

template <typename F, typename... Settings>
std::unique_ptr<Decoder> made(Settings... settings) {
  return std::make_unique<Made<F, Settings...>>(std::move(settings)...);
}

// The filters of a Sequence with their states, first to last.
class Chain : public TokenSink {
 public:
  Chain(const std::vector<std::unique_ptr<Decoder>>& decoders, TokenSink& last) : first_(&last) {
    for (auto decoder = decoders.rbegin(); decoder != decoders.rend(); ++decoder) {
      filters_.push_back((*decoder)->start(*first_));
      first_ = filters_.back().get();
    }
  }
  void text(std::string_view part) override { first_->text(part); }
  void end_token() override { first_->end_token(); }
  void finish() override { first_->finish(); }

 private:
  std::vector<std::unique_ptr<TokenSink>> filters_;
  TokenSink* first_;
};

class Sequence : public Decoder {
 public:
  explicit Sequence(const JsonNode& node) {
    for (const JsonNode& item : node.at("decoders").items()) decoders_.push_back(read_decoder(item));
  }
  std::unique_ptr<TokenSink> start(TokenSink& next) const override { return std::make_unique<Chain>(decoders_, next); }

 private:
  std::vector<std::unique_ptr<Decoder>> decoders_;
};

std::unique_ptr<Decoder> read_strip(const JsonNode& node) {
  const JsonNode content = node.at("content");
  const std::string text = content.text();
  if (text.empty() || code_point_at(text, 0).size_bytes != text.size()) content.fail("expected one character");
  const auto count = [&](const char* key) { return static_cast<size_t>(node.at(key).whole(0, INT32_MAX)); };
  return made<StripFilter>(text, count("start"), count("stop"));
}

std::unique_ptr<Decoder> read_replace(const JsonNode& node) {
  const JsonNode pattern = node.at("pattern");
  const std::string content = node.at("content").text();
  if (const auto text = pattern.find("String"); text && !text->text().empty()) {
    return made<ReplaceTextFilter>(text->text(), content);
  }
  return made<ReplacePatternFilter>(read_pattern(pattern), content);
}

}  // namespace

std::unique_ptr<Decoder> read_decoder(const JsonNode& node) {
  static const std::map<std::string, std::function<std::unique_ptr<Decoder>(const JsonNode&)>> kReaders = {
      {"ByteLevel", [](const JsonNode&) { return made<ByteLevelFilter>(); }},
      {"ByteFallback", [](const JsonNode&) { return made<ByteFallbackFilter>(); }},
      {"Fuse", [](const JsonNode&) { return made<FuseFilter>(); }},
      {"Metaspace", [](const JsonNode& n) { return made<MetaspaceFilter>(read_metaspace(n)); }},
      {"Strip", read_strip},
      {"Replace", read_replace},
      {"WordPiece", [](const JsonNode& n) { return made<WordPieceFilter>(n.at("prefix").text(), n.at("cleanup").flag()); }},
      {"BPEDecoder", [](const JsonNode& n) { return made<SuffixFilter>(n.at("suffix").text()); }},
      {"CTC",
       [](const JsonNode& n) {
         return made<CtcFilter>(n.at("pad_token").text(), n.at("word_delimiter_token").text(), n.at("cleanup").flag());
       }},
      {"Sequence", [](const JsonNode& n) { return std::make_unique<Sequence>(n); }},
  };
  const std::string type = type_of(node);
  const auto reader = kReaders.find(type);
  if (reader == kReaders.end()) node.fail("decoder \"" + type + "\" is not supported");
  return reader->second(node);
}

std::unique_ptr<Decoder> joining_decoder() {
  return made<JoinFilter>();
}

}  // namespace tp
