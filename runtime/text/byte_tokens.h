#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

// Tokens for single bytes, "<0x00>" to "<0xFF>": what sentencepiece's byte fallback writes characters with that it does not
// know.
using ByteTokenIds = std::array<int32_t, 256>;  // -1 = not in the vocabulary

std::string byte_token(unsigned char byte);
std::optional<unsigned char> byte_of_token(std::string_view token);

template <typename IdOf>
ByteTokenIds byte_token_ids(IdOf&& id_of) {
  ByteTokenIds ids;
  for (int b = 0; b < 256; ++b) ids[b] = id_of(byte_token(static_cast<unsigned char>(b)));
  return ids;
}

// Appends the ids of all bytes of `text`, or nothing when one has no token: then false.
bool append_byte_tokens(const ByteTokenIds& bytes, std::string_view text, std::vector<int32_t>& ids);

}  // namespace tp
