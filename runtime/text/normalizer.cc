#include "runtime/text/normalizer.h"

#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "runtime/text/byte_level.h"
#include "runtime/text/pattern.h"
#include "runtime/text/precompiled.h"
#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"

namespace tp {
namespace {

// Calls append(out, c) for each character; what the characters of `from_first` become still stems from the first one.
template <typename Append>
void map_characters(Piece& piece, Append&& append) {
  std::string out;
  out.reserve(piece.text.size());
  size_t from_first = 0;
  for (size_t at = 0; at < piece.text.size();) {
    const CodePoint c = code_point_at(piece.text, at);
    append(out, c.value);
    if (at < piece.from_first) from_first = out.size();
    at += c.size_bytes;
  }
  piece.text = std::move(out);
  piece.from_first = from_first;
}

class UnicodeForm : public Normalizer {
 public:
  explicit UnicodeForm(NormalForm form) : form_(form) {}
  void apply(Piece& piece) const override {
    std::string out = normalized(piece.text, form_);
    if (piece.from_first > 0) {
      const std::string first = normalized(std::string_view(piece.text).substr(0, piece.from_first), form_);
      // A mark that follows may have been composed with it.
      piece.from_first = out.starts_with(first) || out.empty() ? first.size() : code_point_at(out, 0).size_bytes;
    }
    piece.text = std::move(out);
  }

 private:
  NormalForm form_;
};

class Lowercase : public Normalizer {
 public:
  void apply(Piece& piece) const override { map_characters(piece, append_lowercase); }
};

class RemoveSet : public Normalizer {
 public:
  explicit RemoveSet(CharacterSet set) : set_(set) {}
  void apply(Piece& piece) const override {
    map_characters(piece, [&](std::string& out, char32_t c) {
      if (!contains(set_, c)) append_utf8(out, c);
    });
  }

 private:
  CharacterSet set_;
};

class Replace : public Normalizer {
 public:
  Replace(Regex pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(Piece& piece) const override {
    if (piece.text.empty()) return;
    std::string out;
    size_t copied = 0;
    size_t from_first = 0;
    const auto copy = [&](size_t end) {
      if (copied < piece.from_first) from_first = out.size() + std::min(end, piece.from_first) - copied;
      out.append(piece.text, copied, end - copied);
    };
    for (const Span& match : pattern_.find_all(piece.text)) {
      copy(match.begin);
      out += content_;
      // The replacement stems from the last character of the match.
      if (piece.from_first > 0 && match.end <= piece.from_first) from_first = out.size();
      copied = match.end;
    }
    copy(piece.text.size());
    piece.text = std::move(out);
    piece.from_first = from_first;
  }

 private:
  Regex pattern_;
  std::string content_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(Piece& piece) const override { piece.prepend(prefix_); }

 private:
  std::string prefix_;
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(Piece& piece) const override {
    size_t begin = 0, end = piece.text.size();
    while (left_ && begin < end) {
      const CodePoint c = code_point_at(piece.text, begin);
      if (!is_whitespace(c.value)) break;
      begin += c.size_bytes;
    }
    while (right_ && end > begin) {
      const CodePoint c = code_point_before(piece.text, end);
      if (!is_whitespace(c.value)) break;
      end -= c.size_bytes;
    }
    piece.text = piece.text.substr(begin, end - begin);
    piece.from_first = std::min(piece.from_first > begin ? piece.from_first - begin : 0, piece.text.size());
  }

 private:
  bool left_, right_;
};

// Control characters go, other white space becomes a space (sentencepiece's nmt rules).
class Nmt : public Normalizer {
 public:
  void apply(Piece& piece) const override {
    map_characters(piece, [](std::string& out, char32_t c) {
      const bool removed = (c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
      const bool space = c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                         c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == kReplacement;
      if (!removed) append_utf8(out, space ? U' ' : c);
    });
  }
};

class ByteLevelNormalizer : public Normalizer {
 public:
  void apply(Piece& piece) const override {
    const size_t first = byte_level_text(std::string_view(piece.text).substr(0, piece.from_first)).size();
    piece.text = byte_level_text(piece.text);
    piece.from_first = first;
  }
};

class Bert : public Normalizer {
 public:
  explicit Bert(const JsonNode& node)
      : clean_text_(node.at("clean_text").flag()),
        chinese_(node.at("handle_chinese_chars").flag()),
        lowercase_(node.at("lowercase").flag()),
        strip_accents_(node.flag("strip_accents", lowercase_)) {}

  void apply(Piece& piece) const override {
    if (clean_text_) {
      map_characters(piece, [](std::string& out, char32_t c) {
        if (c == 0 || c == kReplacement || contains(kControl, c)) return;
        append_utf8(out, is_whitespace(c) ? U' ' : c);
      });
    }
    if (chinese_) {
      map_characters(piece, [](std::string& out, char32_t c) {
        if (is_chinese(c)) out += ' ';
        append_utf8(out, c);
        if (is_chinese(c)) out += ' ';
      });
    }
    if (strip_accents_) {
      UnicodeForm(NormalForm::kNfd).apply(piece);
      RemoveSet(kNonspacingMark).apply(piece);
    }
    if (lowercase_) Lowercase().apply(piece);
  }

 private:
  static bool is_chinese(char32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
           (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
  }
  bool clean_text_, chinese_, lowercase_, strip_accents_;
};

class Sequence : public Normalizer {
 public:
  explicit Sequence(const JsonNode& node) {
    for (const JsonNode& item : node.at("normalizers").items()) parts_.push_back(read_normalizer(item));
  }
  void apply(Piece& piece) const override {
    for (const auto& part : parts_) part->apply(piece);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

using Reader = std::function<std::unique_ptr<Normalizer>(const JsonNode&)>;

template <typename T, typename... Arguments>
Reader make(Arguments... arguments) {
  return [=](const JsonNode&) { return std::make_unique<T>(arguments...); };
}

}  // namespace

std::unique_ptr<Normalizer> read_normalizer(const JsonNode& node) {
  static const std::map<std::string, Reader> kReaders = {
      {"NFC", make<UnicodeForm>(NormalForm::kNfc)},
      {"NFD", make<UnicodeForm>(NormalForm::kNfd)},
      {"NFKC", make<UnicodeForm>(NormalForm::kNfkc)},
      {"NFKD", make<UnicodeForm>(NormalForm::kNfkd)},
      {"Lowercase", make<Lowercase>()},
      {"StripAccents", make<RemoveSet>(kCombiningMark)},
      {"Nmt", make<Nmt>()},
      {"ByteLevel", make<ByteLevelNormalizer>()},
      {"BertNormalizer", [](const JsonNode& n) { return std::make_unique<Bert>(n); }},
      {"Sequence", [](const JsonNode& n) { return std::make_unique<Sequence>(n); }},
      {"Prepend", [](const JsonNode& n) { return std::make_unique<Prepend>(n.at("prepend").text()); }},
      {"Precompiled", [](const JsonNode& n) { return read_precompiled(n); }},
      {"Strip",
       [](const JsonNode& n) { return std::make_unique<Strip>(n.at("strip_left").flag(), n.at("strip_right").flag()); }},
      {"Replace",
       [](const JsonNode& n) { return std::make_unique<Replace>(read_pattern(n.at("pattern")), n.at("content").text()); }},
  };
  const std::string type = type_of(node);
  const auto reader = kReaders.find(type);
  if (reader == kReaders.end()) node.fail("normalizer \"" + type + "\" is not supported");
  return reader->second(node);
}

}  // namespace tp
