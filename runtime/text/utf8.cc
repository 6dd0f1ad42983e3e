#include "runtime/text/utf8.h"

#include <algorithm>

namespace tp {
namespace {

using Byte = unsigned char;

size_t length_of(Byte lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

// Overlong forms, surrogates and values beyond U+10FFFF show in the second byte (Unicode, table 3-7).
bool is_second(Byte lead, Byte second) {
  const Byte low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const Byte high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second >= low && second <= high;
}

struct Sequence {
  size_t size_bytes;  // of the longest part that can start a character; at least 1
  enum { kWhole, kBroken, kIncomplete } state;
};

Sequence sequence_at(std::string_view text, size_t at) {
  const Byte lead = text[at];
  const size_t size = length_of(lead);
  if (size == 0) return {1, Sequence::kBroken};
  for (size_t i = 1; i < size; ++i) {
    if (at + i == text.size()) return {i, Sequence::kIncomplete};
    const Byte byte = text[at + i];
    if (i == 1 ? !is_second(lead, byte) : (byte & 0xC0) != 0x80) return {i, Sequence::kBroken};
  }
  return {size, Sequence::kWhole};
}

}  // namespace

CodePoint code_point_at(std::string_view text, size_t at) {
  const Byte lead = text[at];
  const auto rest = [&](size_t i) { return static_cast<char32_t>(static_cast<Byte>(text[at + i]) & 0x3F); };
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1Fu) << 6 | rest(1), 2};
  if (lead < 0xF0) return {(lead & 0x0Fu) << 12 | rest(1) << 6 | rest(2), 3};
  return {(lead & 0x07u) << 18 | rest(1) << 12 | rest(2) << 6 | rest(3), 4};
}

CodePoint code_point_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while ((static_cast<Byte>(text[at]) & 0xC0) == 0x80) --at;
  return code_point_at(text, at);
}

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto put_rest = [&](int shift) { put(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put_rest(0);
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put_rest(6);
    put_rest(0);
  } else {
    put(0xF0 | c >> 18);
    put_rest(12);
    put_rest(6);
    put_rest(0);
  }
}

void Utf8Assembler::push(std::string_view bytes, std::string& out) {
  std::string joined;
  std::string_view text = bytes;
  if (!pending_.empty()) {
    joined = pending_;
    joined += bytes;
    text = joined;
    pending_.clear();
  }
  size_t at = 0;
  while (at < text.size()) {
    const Sequence sequence = sequence_at(text, at);
    if (sequence.state == Sequence::kIncomplete) break;
    if (sequence.state == Sequence::kWhole) {
      out.append(text, at, sequence.size_bytes);
    } else {
      append_utf8(out, kReplacement);
    }
    at += sequence.size_bytes;
  }
  pending_ = text.substr(at);
}

void Utf8Assembler::finish(std::string& out) {
  if (!pending_.empty()) append_utf8(out, kReplacement);
  pending_.clear();
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  Utf8Assembler assembler;
  assembler.push(text, out);
  assembler.finish(out);
  return out;
}

}  // namespace tp
