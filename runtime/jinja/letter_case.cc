#include "runtime/jinja/letter_case.h"

#include <utf8proc.h>

#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"

namespace tp::jinja {
namespace {

void append_upper(std::string& out, char32_t c) {
  if (c == U'ß') {
    out += "SS";
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_title(std::string& out, char32_t c) {
  if (c == U'ß') {
    out += "Ss";
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
  }
}

bool is_cased(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
}

template <typename Append>
std::string mapped(const std::string& text, Append&& append) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    append(out, c.value);
    at += c.size_bytes;
  }
  return out;
}

}  // namespace

std::string upper(const std::string& text) {
  return mapped(text, append_upper);
}
std::string lower(const std::string& text) {
  return mapped(text, append_lowercase);
}

std::string title(const std::string& text) {
  bool inside = false;
  return mapped(text, [&](std::string& out, char32_t c) {
    inside ? append_lowercase(out, c) : append_title(out, c);
    inside = is_cased(c);
  });
}

std::string capitalize(const std::string& text) {
  bool first = true;
  return mapped(text, [&](std::string& out, char32_t c) {
    first ? append_title(out, c) : append_lowercase(out, c);
    first = false;
  });
}

}  // namespace tp::jinja
