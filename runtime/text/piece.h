#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

// A part of the text on its way to ids: either an added token (id >= 0) or text that is still to be tokenized.
struct Piece {
  std::string text;
  int32_t id = -1;
  // How many bytes of `text` stem from the first character of what encode() was given, and whether the piece began with such
  // a byte when it was cut: Metaspace with prepend_scheme "first" asks for it.
  size_t from_first = 0;
  bool at_start = false;

  // Bytes [begin, end) as a piece of their own.
  Piece slice(size_t begin, size_t end) const {
    const size_t left = from_first > begin ? from_first - begin : 0;
    return {text.substr(begin, end - begin), -1, left < end - begin ? left : end - begin, left > 0};
  }
  // `prefix` counts as stemming from the character that it stands before.
  void prepend(std::string_view prefix) {
    if (text.empty()) return;
    text.insert(0, prefix);
    if (from_first > 0) from_first += prefix.size();
  }
};
using Pieces = std::vector<Piece>;

}  // namespace tp
