#pragma once

#include <string>
#include <string_view>

namespace tp {

// GPT-2's alphabet: every byte has a printable character of its own (bytes_to_unicode in openai/gpt-2, encoder.py).
std::string byte_level_text(std::string_view bytes);

// The bytes that `text` stands for; appended to `out`. A text with a character outside of the alphabet stands for itself.
void append_byte_level_bytes(std::string& out, std::string_view text);

// How GPT-2 splits text into words.
inline constexpr char kGpt2Pattern[] = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace tp
