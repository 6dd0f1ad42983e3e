#include "runtime/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "runtime/text/utf8.h"
#include "sharding/error.h"

namespace tp {
namespace {

// Capitals that Unicode 15.1 to 17 added, which utf8proc may not know: first..last + distance is the lower case.
struct NewCapitals {
  char32_t first, last;
  int32_t distance;
};
constexpr NewCapitals kNewCapitals[] = {
    {0x1C89, 0x1C89, 1}, {0xA7CB, 0xA7CB, -42343}, {0xA7CC, 0xA7CC, 1},      {0xA7CE, 0xA7CE, 1},      {0xA7D2, 0xA7D2, 1},
    {0xA7D4, 0xA7D4, 1}, {0xA7DA, 0xA7DA, 1},      {0xA7DC, 0xA7DC, -42561}, {0x10D50, 0x10D65, 0x20}, {0x16EA0, 0x16EB8, 0x1B},
};

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

void append_normalized(std::string& out, std::string_view text, utf8proc_option_t options) {
  if (text.empty()) return;
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &mapped, options);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
  if (size < 0) throw Error("normalization", utf8proc_errmsg(size));
  out.append(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
}

}  // namespace

bool contains(CharacterSet set, char32_t c) {
  const auto after =
      std::upper_bound(set.begin(), set.end(), c, [](char32_t x, const CharacterRange& r) { return x < r.first; });
  return after != set.begin() && c <= std::prev(after)->last;
}

bool is_whitespace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

void append_lowercase(std::string& text, char32_t c) {
  if (c == 0x130) {
    text += "i\u0307";
    return;
  }
  for (const NewCapitals& n : kNewCapitals) {
    if (c >= n.first && c <= n.last) return append_utf8(text, static_cast<char32_t>(static_cast<int32_t>(c) + n.distance));
  }
  append_utf8(text, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

std::string normalized(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  const bool compose = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                                      (compatible ? UTF8PROC_COMPAT : 0));
  std::string out;
  out.reserve(text.size());
  size_t run = 0;  // start of what is not copied yet
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (c.value >= kNotNormalized.front().first && contains(kNotNormalized, c.value)) {
      append_normalized(out, text.substr(run, at - run), options);
      out.append(text, at, c.size_bytes);
      run = at + c.size_bytes;
    }
    at += c.size_bytes;
  }
  append_normalized(out, text.substr(run), options);
  return out;
}

}  // namespace tp
