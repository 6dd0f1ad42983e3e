#include "runtime/text/precompiled.h"

#include <utf8proc.h>

#include <optional>
#include <vector>

#include "runtime/text/utf8.h"

namespace tp {
namespace {

std::optional<std::string> base64_bytes(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) bytes.push_back(static_cast<char>(bits >> (count -= 8)));
  }
  return bytes;
}

uint32_t little_endian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

// Layout: size of the trie in bytes, the units of a Darts-clone double array, then the replacements, each ended by a zero.
class Precompiled : public Normalizer {
 public:
  Precompiled(std::vector<uint32_t> units, std::string replacements)
      : units_(std::move(units)), replacements_(std::move(replacements)) {}

  void apply(Piece& piece) const override {
    std::string out;
    size_t from_first = 0;
    for (size_t at = 0; at < piece.text.size();) {
      const size_t end = grapheme_end(piece.text, at);
      append_grapheme(out, std::string_view(piece.text).substr(at, end - at));
      if (at < piece.from_first) from_first = out.size();
      at = end;
    }
    piece.text = std::move(out);
    piece.from_first = from_first;
  }

 private:
  static size_t grapheme_end(std::string_view text, size_t at) {
    utf8proc_int32_t state = 0;
    CodePoint c = code_point_at(text, at);
    size_t end = at + c.size_bytes;
    while (end < text.size()) {
      const CodePoint next = code_point_at(text, end);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(c.value), static_cast<utf8proc_int32_t>(next.value),
                                           &state))
        break;
      c = next;
      end += c.size_bytes;
    }
    return end;
  }

  // Short graphemes are looked up as a whole, then character by character, as the reference does.
  void append_grapheme(std::string& out, std::string_view grapheme) const {
    if (grapheme.size() < 6) {
      if (const auto replacement = find(grapheme)) {
        out += *replacement;
        return;
      }
    }
    for (size_t at = 0; at < grapheme.size();) {
      const std::string_view c = grapheme.substr(at, code_point_at(grapheme, at).size_bytes);
      const auto replacement = find(c);
      out += replacement ? *replacement : c;
      at += c.size();
    }
  }

  // The replacement of the shortest key that `text` begins with.
  std::optional<std::string_view> find(std::string_view text) const {
    if (units_.empty()) return std::nullopt;
    size_t node = offset(units_[0]);
    for (const char byte : text) {
      const auto label = static_cast<unsigned char>(byte);
      node ^= label;
      if (label == 0 || node >= units_.size() || (units_[node] & (uint32_t{1} << 31 | 0xFF)) != label) return std::nullopt;
      const uint32_t unit = units_[node];
      node ^= offset(unit);
      if ((unit >> 8 & 1) == 0) continue;
      const size_t begin = node < units_.size() ? units_[node] & ~(uint32_t{1} << 31) : replacements_.size();
      if (begin >= replacements_.size()) return std::nullopt;
      const size_t end = replacements_.find('\0', begin);
      return std::string_view(replacements_).substr(begin, end == std::string::npos ? end : end - begin);
    }
    return std::nullopt;
  }
  static size_t offset(uint32_t unit) { return static_cast<size_t>(unit >> 10) << ((unit & 1u << 9) >> 6); }

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace

std::unique_ptr<Normalizer> read_precompiled(const JsonNode& node) {
  const JsonNode map = node.at("precompiled_charsmap");
  const auto bytes = base64_bytes(map.text());
  if (!bytes) map.fail("is not base64");
  if (bytes->size() < 4) map.fail("is cut short");
  const size_t size = little_endian(*bytes, 0);
  if (size > bytes->size() - 4) map.fail("is cut short");
  std::vector<uint32_t> units(size / 4);
  for (size_t i = 0; i < units.size(); ++i) units[i] = little_endian(*bytes, 4 + 4 * i);
  std::string replacements = bytes->substr(4 + 4 * units.size());
  if (valid_utf8(replacements) != replacements) map.fail("has replacements that are not UTF-8");
  return std::make_unique<Precompiled>(std::move(units), std::move(replacements));
}

}  // namespace tp
