#include "runtime/jinja/lexer.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"

namespace tp::jinja {
namespace {

// Line ends as "\n".
std::string with_plain_line_ends(std::string_view source) {
  std::string text;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool is_space(char32_t c) {
  return is_whitespace(c) || (c >= 0x1C && c <= 0x1F);
}

std::string without_trailing_space(std::string text) {
  while (!text.empty()) {
    const CodePoint c = code_point_before(text, text.size());
    if (!is_space(c.value)) break;
    text.resize(text.size() - c.size_bytes);
  }
  return text;
}

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_name_part(char c) {
  return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c));
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : in_(with_plain_line_ends(source)) {}

  std::vector<Token> run() {
    while (at_ < in_.size()) outside();
    push(TokenKind::kEnd, "", at_);
    return std::move(tokens_);
  }

 private:
  Position position(size_t offset) {
    for (; counted_ < offset; ++counted_) {
      if (in_[counted_] == '\n') {
        ++line_;
        line_start_ = counted_ + 1;
      }
    }
    return {line_, static_cast<int>(offset - line_start_) + 1};
  }
  [[noreturn]] void fail(const std::string& message, size_t offset) {
    if (offset < counted_) counted_ = line_start_ = 0, line_ = 1;
    throw Fault{message, position(offset)};
  }
  void push(TokenKind kind, std::string text, size_t offset) { tokens_.push_back({kind, std::move(text), position(offset)}); }
  bool next_is(std::string_view text) const { return std::string_view(in_).substr(at_).starts_with(text); }
  bool at_character(size_t offset, char c) const { return offset < in_.size() && in_[offset] == c; }

  // Text up to the next `{{`, `{%` or `{#`, then what that opens.
  void outside() {
    const size_t start = at_;
    size_t open = at_;
    while ((open = in_.find('{', open)) != std::string::npos && !at_character(open + 1, '{') && !at_character(open + 1, '%') &&
           !at_character(open + 1, '#')) {
      ++open;
    }
    if (open == std::string::npos) {
      push(TokenKind::kText, in_.substr(start), start);
      at_ = in_.size();
      return;
    }
    at_ = open + 2;
    const char sign = at_character(at_, '-') || at_character(at_, '+') ? in_[at_++] : '\0';
    std::string text = in_.substr(start, open - start);
    if (sign == '-') {
      text = without_trailing_space(std::move(text));
    } else if (sign != '+' && in_[open + 1] != '{') {
      text = without_indent(std::move(text), start);
    }
    if (!text.empty()) push(TokenKind::kText, std::move(text), start);
    if (in_[open + 1] == '#') return comment(open);
    if (in_[open + 1] == '{') {
      push(TokenKind::kPrintBegin, "{{", open);
      return inside(TokenKind::kPrintEnd, "}}");
    }
    if (raw(open)) return;
    push(TokenKind::kBlockBegin, "{%", open);
    inside(TokenKind::kBlockEnd, "%}");
  }

  // lstrip_blocks: blanks between the line's start and the block. `start` = where the text began.
  std::string without_indent(std::string text, size_t start) const {
    const size_t line_end = text.rfind('\n');
    const bool line_starts = line_end != std::string::npos || start == 0 || in_[start - 1] == '\n';
    if (!line_starts) return text;
    const size_t line = line_end == std::string::npos ? 0 : line_end + 1;
    return without_trailing_space(text.substr(line)).empty() ? text.substr(0, line) : text;
  }

  // After `-` before a closing tag all white space goes, else (trim_blocks) one line end, with `+` none.
  void after_close(char sign, bool trim) {
    if (sign == '-') {
      while (at_ < in_.size()) {
        const CodePoint c = code_point_at(in_, at_);
        if (!is_space(c.value)) break;
        at_ += c.size_bytes;
      }
    } else if (sign != '+' && trim && at_character(at_, '\n')) {
      ++at_;
    }
  }

  void comment(size_t open) {
    const size_t close = in_.find("#}", at_);
    if (close == std::string::npos) fail("Missing end of comment tag", open);
    const char sign = close > at_ && (in_[close - 1] == '-' || in_[close - 1] == '+') ? in_[close - 1] : '\0';
    at_ = close + 2;
    after_close(sign, true);
  }

  // Skips blanks from `offset`, then `word`, then blanks; npos when it is not there.
  size_t after_word(size_t offset, std::string_view word) const {
    const auto blanks = [&] {
      while (offset < in_.size() && std::isspace(static_cast<unsigned char>(in_[offset]))) ++offset;
    };
    blanks();
    if (std::string_view(in_).substr(offset, word.size()) != word) return std::string::npos;
    offset += word.size();
    blanks();
    return offset;
  }

  // {% raw %} … {% endraw %}
  bool raw(size_t open) {
    size_t close = after_word(at_, "raw");
    if (close == std::string::npos) return false;
    const char sign = at_character(close, '-') ? in_[close++] : '\0';
    if (std::string_view(in_).substr(close, 2) != "%}") return false;
    at_ = close + 2;
    after_close(sign, false);
    const size_t start = at_;
    for (size_t end = in_.find("{%", at_); end != std::string::npos; end = in_.find("{%", end + 2)) {
      size_t rest = end + 2;
      const char before = at_character(rest, '-') || at_character(rest, '+') ? in_[rest++] : '\0';
      rest = after_word(rest, "endraw");
      if (rest == std::string::npos) continue;
      const char after = at_character(rest, '-') || at_character(rest, '+') ? in_[rest++] : '\0';
      if (std::string_view(in_).substr(rest, 2) != "%}") continue;
      std::string text = in_.substr(start, end - start);
      if (before == '-') text = without_trailing_space(std::move(text));
      if (before == '\0') text = without_indent(std::move(text), start);
      push(TokenKind::kText, std::move(text), start);
      at_ = rest + 2;
      after_close(after, true);
      return true;
    }
    fail("Missing end of raw directive", open);
  }

  void inside(TokenKind end_kind, std::string_view end) {
    std::string brackets;
    while (true) {
      while (at_ < in_.size() && std::isspace(static_cast<unsigned char>(in_[at_]))) ++at_;
      if (at_ == in_.size()) fail("unexpected end of template, expected `" + std::string(end) + "`", at_);
      if (brackets.empty()) {
        const size_t signed_end = at_ + ((in_[at_] == '-' || in_[at_] == '+') ? 1 : 0);
        if (std::string_view(in_).substr(signed_end, 2) == end && !(in_[at_] == '+' && end == "}}")) {
          const char sign = signed_end > at_ ? in_[at_] : '\0';
          push(end_kind, std::string(end), at_);
          at_ = signed_end + 2;
          return after_close(sign, end_kind == TokenKind::kBlockEnd);
        }
      }
      expression_token(brackets);
    }
  }

  void expression_token(std::string& brackets) {
    const size_t start = at_;
    const char c = in_[at_];
    if (is_name_start(c)) {
      while (at_ < in_.size() && is_name_part(in_[at_])) ++at_;
      return push(TokenKind::kName, in_.substr(start, at_ - start), start);
    }
    if (std::isdigit(static_cast<unsigned char>(c))) return number();
    if (c == '\'' || c == '"') return string();
    for (const std::string_view two : {"//", "**", "==", "!=", ">=", "<="}) {
      if (!next_is(two)) continue;
      at_ += 2;
      return push(TokenKind::kOperator, std::string(two), start);
    }
    if (std::string_view("+-*/%~[](){}<>=.:|,;").find(c) == std::string_view::npos) {
      fail(std::string("unexpected char '") + in_.substr(at_, code_point_at(in_, at_).size_bytes) + "'", at_);
    }
    if (c == '(' || c == '[' || c == '{') brackets += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (brackets.empty() || brackets.back() != c) fail(std::string("unexpected '") + c + "'", at_);
      brackets.pop_back();
    }
    ++at_;
    push(TokenKind::kOperator, std::string(1, c), start);
  }

  void number() {
    const size_t start = at_;
    const auto digits = [&] {
      while (at_ < in_.size() && (std::isdigit(static_cast<unsigned char>(in_[at_])) || in_[at_] == '_')) ++at_;
    };
    digits();
    bool is_float = false;
    if (at_character(at_, '.') && at_ + 1 < in_.size() && std::isdigit(static_cast<unsigned char>(in_[at_ + 1]))) {
      is_float = true;
      ++at_;
      digits();
    }
    size_t exponent = at_;
    if (at_character(exponent, 'e') || at_character(exponent, 'E')) {
      ++exponent;
      if (at_character(exponent, '+') || at_character(exponent, '-')) ++exponent;
      if (exponent < in_.size() && std::isdigit(static_cast<unsigned char>(in_[exponent]))) {
        is_float = true;
        at_ = exponent;
        digits();
      }
    }
    if (at_ < in_.size() && is_name_part(in_[at_])) fail("bad number", start);
    std::string text = in_.substr(start, at_ - start);
    std::erase(text, '_');
    push(is_float ? TokenKind::kFloat : TokenKind::kInteger, std::move(text), start);
  }

  void string() {
    const size_t start = at_;
    const char quote = in_[at_++];
    std::string text;
    while (at_ < in_.size() && in_[at_] != quote) {
      if (in_[at_] == '\\') {
        escape(text, start);
      } else {
        text += in_[at_++];
      }
    }
    if (at_ == in_.size()) fail("string without end", start);
    ++at_;
    push(TokenKind::kString, std::move(text), start);
  }

  // Python's escapes; an unknown one keeps its backslash.
  void escape(std::string& text, size_t start) {
    if (at_ + 1 >= in_.size()) fail("string without end", start);
    const char c = in_[at_ + 1];
    constexpr std::string_view kNames = "\\'\"abfnrtv";
    constexpr std::string_view kValues = "\\'\"\a\b\f\n\r\t\v";
    at_ += 2;
    if (c == '\n') return;
    if (const size_t named = kNames.find(c); named != std::string_view::npos) {
      text += kValues[named];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      code_point(text, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c >= '0' && c <= '7') {
      char32_t value = static_cast<char32_t>(c - '0');
      for (int i = 0; i < 2 && at_ < in_.size() && in_[at_] >= '0' && in_[at_] <= '7'; ++i)
        value = value * 8 + static_cast<char32_t>(in_[at_++] - '0');
      append_utf8(text, value);
    } else {
      text += {'\\', c};
    }
  }

  void code_point(std::string& text, size_t digits) {
    const size_t start = at_ - 2;
    uint32_t value = 0;
    for (size_t i = 0; i < digits; ++i, ++at_) {
      if (at_ >= in_.size() || !std::isxdigit(static_cast<unsigned char>(in_[at_]))) fail("bad escape in a string", start);
      const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(in_[at_])));
      value = value * 16 + static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) fail("no such character", start);
    append_utf8(text, value);
  }

  std::string in_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
  size_t counted_ = 0, line_start_ = 0;  // lines are counted up to here
  int line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace tp::jinja
