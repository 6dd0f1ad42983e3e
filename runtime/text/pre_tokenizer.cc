#include "runtime/text/pre_tokenizer.h"

#include <functional>
#include <map>
#include <stdexcept>

#include "runtime/text/byte_level.h"
#include "runtime/text/metaspace.h"
#include "runtime/text/pattern.h"
#include "runtime/text/split.h"
#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"

namespace tp {
namespace {

// Calls cut(piece) for every piece of text and puts what it gives in its place.
template <typename Cut>
void split_pieces(Pieces& pieces, Cut&& cut) {
  Pieces out;
  out.reserve(pieces.size());
  for (Piece& piece : pieces) {
    if (piece.id >= 0) {
      out.push_back(std::move(piece));
      continue;
    }
    for (const Span& span : cut(piece)) {
      if (span.begin != span.end) out.push_back(piece.slice(span.begin, span.end));
    }
  }
  pieces = std::move(out);
}

template <typename Predicate>
std::vector<Span> characters_where(std::string_view text, Predicate&& predicate) {
  std::vector<Span> spans;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (predicate(c.value)) spans.push_back({at, at + c.size_bytes});
    at += c.size_bytes;
  }
  return spans;
}

class Split : public PreTokenizer {
 public:
  Split(Regex pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void apply(Pieces& pieces) const override {
    split_pieces(pieces, [&](const Piece& p) { return split(p.text.size(), pattern_.find_all(p.text), behavior_, invert_); });
  }

 private:
  Regex pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

// Splits at the characters of a set.
class SplitAt : public PreTokenizer {
 public:
  SplitAt(std::function<bool(char32_t)> delimits, SplitBehavior behavior)
      : delimits_(std::move(delimits)), behavior_(behavior) {}
  void apply(Pieces& pieces) const override {
    split_pieces(pieces,
                 [&](const Piece& p) { return split(p.text.size(), characters_where(p.text, delimits_), behavior_, false); });
  }

 private:
  std::function<bool(char32_t)> delimits_;
  SplitBehavior behavior_;
};

class ByteLevel : public PreTokenizer {
 public:
  explicit ByteLevel(const JsonNode& node)
      : add_prefix_space_(node.at("add_prefix_space").flag()), use_regex_(node.flag("use_regex", true)) {}

  void apply(Pieces& pieces) const override {
    static const Regex kWords = Regex::pattern(kGpt2Pattern);
    split_pieces(pieces, [&](Piece& p) {
      if (add_prefix_space_ && !p.text.starts_with(' ')) p.prepend(" ");
      if (!use_regex_) return std::vector<Span>{{0, p.text.size()}};
      return split(p.text.size(), kWords.find_all(p.text), SplitBehavior::kIsolated, false);
    });
    for (Piece& p : pieces) {
      if (p.id >= 0) continue;
      p.from_first = byte_level_text(std::string_view(p.text).substr(0, p.from_first)).size();
      p.text = byte_level_text(p.text);
    }
  }

 private:
  bool add_prefix_space_, use_regex_;
};

class MetaspaceSplit : public PreTokenizer {
 public:
  explicit MetaspaceSplit(const JsonNode& node) : options_(read_metaspace(node)) {}

  void apply(Pieces& pieces) const override {
    split_pieces(pieces, [&](Piece& p) {
      replace_spaces(p);
      const bool wanted =
          options_.prepend == PrependScheme::kAlways || (options_.prepend == PrependScheme::kFirst && p.at_start);
      if (wanted && !p.text.starts_with(options_.replacement)) p.prepend(options_.replacement);
      if (!options_.split) return std::vector<Span>{{0, p.text.size()}};
      std::vector<Span> marks;
      for (size_t at = 0; (at = p.text.find(options_.replacement, at)) != std::string::npos;
           at += options_.replacement.size()) {
        marks.push_back({at, at + options_.replacement.size()});
      }
      return split(p.text.size(), marks, SplitBehavior::kMergedWithNext, false);
    });
  }

 private:
  void replace_spaces(Piece& piece) const {
    std::string out;
    size_t from_first = piece.from_first;
    for (size_t at = 0; at < piece.text.size(); ++at) {
      if (piece.text[at] != ' ') {
        out += piece.text[at];
        continue;
      }
      out += options_.replacement;
      if (at < piece.from_first) from_first += options_.replacement.size() - 1;
    }
    piece.text = std::move(out);
    piece.from_first = from_first;
  }

  Metaspace options_;
};

// Words and runs of other characters; white space goes.
class Whitespace : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    split_pieces(pieces, [](const Piece& p) {
      std::vector<Span> spans;
      int kind = 0;
      for (size_t at = 0; at < p.text.size();) {
        const CodePoint c = code_point_at(p.text, at);
        const int next = is_word(c.value) ? 1 : is_whitespace(c.value) ? 0 : 2;
        if (next != 0 && next == kind) {
          spans.back().end = at + c.size_bytes;
        } else if (next != 0) {
          spans.push_back({at, at + c.size_bytes});
        }
        kind = next;
        at += c.size_bytes;
      }
      return spans;
    });
  }
};

class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(size_t length) : length_(length) {}
  void apply(Pieces& pieces) const override {
    split_pieces(pieces, [&](const Piece& p) {
      std::vector<Span> spans;
      size_t count = 0;
      for (size_t at = 0; at < p.text.size(); ++count) {
        const size_t end = at + code_point_at(p.text, at).size_bytes;
        if (count % length_ == 0) spans.push_back({at, end});
        spans.back().end = end;
        at = end;
      }
      return spans;
    });
  }

 private:
  size_t length_;
};

class Sequence : public PreTokenizer {
 public:
  void add(std::unique_ptr<PreTokenizer> part) { parts_.push_back(std::move(part)); }
  void apply(Pieces& pieces) const override {
    for (const auto& part : parts_) part->apply(pieces);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

using Made = std::unique_ptr<PreTokenizer>;

Made split_at(bool (*delimits)(char32_t), SplitBehavior behavior) {
  return std::make_unique<SplitAt>(delimits, behavior);
}

Made read_sequence(const JsonNode& node) {
  auto sequence = std::make_unique<Sequence>();
  for (const JsonNode& item : node.at("pretokenizers").items()) sequence->add(read_pre_tokenizer(item));
  return sequence;
}

Made read_bert() {
  auto sequence = std::make_unique<Sequence>();
  sequence->add(split_at(is_whitespace, SplitBehavior::kRemoved));
  sequence->add(split_at(is_punctuation, SplitBehavior::kIsolated));
  return sequence;
}

Made read_char_delimiter(const JsonNode& node) {
  const JsonNode delimiter = node.at("delimiter");
  const std::string text = delimiter.text();
  if (text.empty() || code_point_at(text, 0).size_bytes != text.size()) delimiter.fail("expected one character");
  const char32_t wanted = code_point_at(text, 0).value;
  return std::make_unique<SplitAt>([wanted](char32_t c) { return c == wanted; }, SplitBehavior::kRemoved);
}

Made read_punctuation(const JsonNode& node) {
  const auto behavior = node.find("behavior");
  return split_at(is_punctuation, behavior ? read_split_behavior(*behavior) : SplitBehavior::kIsolated);
}

Made read_split(const JsonNode& node) {
  return std::make_unique<Split>(read_pattern(node.at("pattern")), read_split_behavior(node.at("behavior")),
                                 node.at("invert").flag());
}

Made read_digits(const JsonNode& node) {
  return split_at(is_numeric, node.at("individual_digits").flag() ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
}

Made read_fixed_length(const JsonNode& node) {
  const auto length = node.find("length");
  return std::make_unique<FixedLength>(length ? static_cast<size_t>(length->whole(1, INT32_MAX)) : 5);
}

}  // namespace

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const JsonNode& node) {
  static const std::map<std::string, std::function<Made(const JsonNode&)>> kReaders = {
      {"ByteLevel", [](const JsonNode& n) { return std::make_unique<ByteLevel>(n); }},
      {"Metaspace", [](const JsonNode& n) { return std::make_unique<MetaspaceSplit>(n); }},
      {"Whitespace", [](const JsonNode&) { return std::make_unique<Whitespace>(); }},
      {"WhitespaceSplit", [](const JsonNode&) { return split_at(is_whitespace, SplitBehavior::kRemoved); }},
      {"BertPreTokenizer", [](const JsonNode&) { return read_bert(); }},
      {"CharDelimiterSplit", read_char_delimiter},
      {"Punctuation", read_punctuation},
      {"Split", read_split},
      {"Digits", read_digits},
      {"FixedLength", read_fixed_length},
      {"Sequence", read_sequence},
  };
  const std::string type = type_of(node);
  const auto reader = kReaders.find(type);
  if (reader == kReaders.end()) node.fail("pre-tokenizer \"" + type + "\" is not supported");
  return reader->second(node);
}

}  // namespace tp
