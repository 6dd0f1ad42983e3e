#include "runtime/text/byte_level.h"

#include <array>
#include <cstdint>

#include "runtime/text/utf8.h"

namespace tp {
namespace {

constexpr size_t kAlphabetEnd = 256 + 68;  // 68 bytes are not printable in Latin-1

struct Alphabet {
  std::array<std::string, 256> text;            // of each byte
  std::array<int16_t, kAlphabetEnd> byte = {};  // of each character, -1 = none
};

Alphabet make_alphabet() {
  Alphabet alphabet;
  alphabet.byte.fill(-1);
  char32_t next = 256;
  for (int b = 0; b < 256; ++b) {
    const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    const char32_t c = printable ? static_cast<char32_t>(b) : next++;
    append_utf8(alphabet.text[b], c);
    alphabet.byte[c] = static_cast<int16_t>(b);
  }
  return alphabet;
}

const Alphabet& alphabet() {
  static const Alphabet kAlphabet = make_alphabet();
  return kAlphabet;
}

}  // namespace

std::string byte_level_text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char b : bytes) text += alphabet().text[static_cast<unsigned char>(b)];
  return text;
}

void append_byte_level_bytes(std::string& out, std::string_view text) {
  const size_t before = out.size();
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    const int byte = c.value < kAlphabetEnd ? alphabet().byte[c.value] : -1;
    if (byte < 0) {
      out.resize(before);
      out += text;
      return;
    }
    out.push_back(static_cast<char>(byte));
    at += c.size_bytes;
  }
}

}  // namespace tp
