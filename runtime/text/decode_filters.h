#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/text/decoder.h"
#include "runtime/text/metaspace.h"
#include "runtime/text/regex.h"
#include "runtime/text/utf8.h"

namespace tp {

// The states of the decoders of decoder.h. Source of each rule: the Rust crate `tokenizers`, decoders/.

class DecodeFilter : public TokenSink {
 public:
  explicit DecodeFilter(TokenSink& next) : next_(next) {}

 protected:
  void pass_token(std::string_view token) {
    next_.text(token);
    next_.end_token();
  }
  TokenSink& next_;
};

// Holds a token until it is whole.
class WholeTokenFilter : public DecodeFilter {
 public:
  using DecodeFilter::DecodeFilter;
  void text(std::string_view part) override { token_ += part; }
  void end_token() override {
    take(std::move(token_));
    token_.clear();
  }
  void finish() override {
    flush();
    next_.finish();
  }

 protected:
  virtual void take(std::string token) = 0;
  virtual void flush() {}

 private:
  std::string token_;
};

// GPT-2's alphabet to bytes, all of them one token.
class ByteLevelFilter : public WholeTokenFilter {
 public:
  using WholeTokenFilter::WholeTokenFilter;

 protected:
  void take(std::string token) override;
  void flush() override;

 private:
  Utf8Assembler assembler_;
};

// "<0x61>" to its byte. Neighbouring bytes that are not UTF-8 as a whole are one U+FFFD each, so they wait for their last.
class ByteFallbackFilter : public WholeTokenFilter {
 public:
  using WholeTokenFilter::WholeTokenFilter;

 protected:
  void take(std::string token) override;
  void flush() override;

 private:
  std::string bytes_;
};

// All tokens become one.
class FuseFilter : public DecodeFilter {
 public:
  using DecodeFilter::DecodeFilter;
  void text(std::string_view part) override { next_.text(part); }
  void end_token() override {}
  void finish() override {
    next_.end_token();
    next_.finish();
  }
};

class JoinFilter : public DecodeFilter {
 public:
  using DecodeFilter::DecodeFilter;
  void text(std::string_view part) override;
  void end_token() override;
  void finish() override { next_.finish(); }

 private:
  void begin();
  bool first_ = true;
  bool begun_ = false;
};

// The visible space to a space, in the first token to nothing unless nothing is prepended.
class MetaspaceFilter : public DecodeFilter {
 public:
  MetaspaceFilter(TokenSink& next, Metaspace options) : DecodeFilter(next), options_(std::move(options)) {}
  void text(std::string_view part) override;
  void end_token() override;
  void finish() override { next_.finish(); }

 private:
  Metaspace options_;
  bool first_ = true;
};

// Takes up to `start` and `stop` characters `content` from the ends of each token.
class StripFilter : public DecodeFilter {
 public:
  StripFilter(TokenSink& next, std::string content, size_t start, size_t stop)
      : DecodeFilter(next), content_(std::move(content)), start_(start), stop_(stop) {}
  void text(std::string_view part) override;
  void end_token() override;
  void finish() override { next_.finish(); }

 private:
  std::string content_;
  size_t start_, stop_;
  size_t stripped_ = 0;
  bool at_start_ = true;
  size_t held_ = 0;  // characters `content` at the end so far, at most stop_
};

// Every `from` (not empty) of a token by `to`; an end that could be the beginning of one waits.
class ReplaceTextFilter : public DecodeFilter {
 public:
  ReplaceTextFilter(TokenSink& next, std::string from, std::string to)
      : DecodeFilter(next), from_(std::move(from)), to_(std::move(to)) {}
  void text(std::string_view part) override;
  void end_token() override;
  void finish() override { next_.finish(); }

 private:
  std::string from_, to_;
  std::string held_;
};

class ReplacePatternFilter : public WholeTokenFilter {
 public:
  ReplacePatternFilter(TokenSink& next, Regex pattern, std::string content)
      : WholeTokenFilter(next), pattern_(std::move(pattern)), content_(std::move(content)) {}

 protected:
  void take(std::string token) override;

 private:
  Regex pattern_;
  std::string content_;
};

// BERT: "##x" continues a word, other tokens begin one.
class WordPieceFilter : public WholeTokenFilter {
 public:
  WordPieceFilter(TokenSink& next, std::string prefix, bool cleanup)
      : WholeTokenFilter(next), prefix_(std::move(prefix)), cleanup_(cleanup) {}

 protected:
  void take(std::string token) override;

 private:
  std::string prefix_;
  bool cleanup_;
  bool first_ = true;
};

// The mark of a word's end to a space, in the last token to nothing.
class SuffixFilter : public WholeTokenFilter {
 public:
  SuffixFilter(TokenSink& next, std::string suffix) : WholeTokenFilter(next), suffix_(std::move(suffix)) {}

 protected:
  void take(std::string token) override;
  void flush() override;

 private:
  std::string suffix_;
  std::optional<std::string> waiting_;
};

class CtcFilter : public WholeTokenFilter {
 public:
  CtcFilter(TokenSink& next, std::string pad, std::string delimiter, bool cleanup)
      : WholeTokenFilter(next), pad_(std::move(pad)), delimiter_(std::move(delimiter)), cleanup_(cleanup) {}

 protected:
  void take(std::string token) override;

 private:
  std::string pad_, delimiter_;
  bool cleanup_;
  std::optional<std::string> previous_;
};

}  // namespace tp
