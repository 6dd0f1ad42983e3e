#include "runtime/text/regex_syntax.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "runtime/text/regex_sets.h"
#include "runtime/text/utf8.h"

namespace tp {
namespace {

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  std::string run() {
    while (at_ < in_.size()) translate();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what, size_t offset) const {
    throw std::invalid_argument(what + " at offset " + std::to_string(offset));
  }
  bool next_is(std::string_view text) const { return in_.substr(at_).starts_with(text); }
  char peek(size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  char32_t take_code_point() {
    const CodePoint c = code_point_at(in_, at_);
    at_ += c.size_bytes;
    return c.value;
  }

  void atom(const std::string& text) {
    atom_start_ = out_.size();
    out_ += text;
    quantified_ = false;
  }

  void translate() {
    const char c = in_[at_];
    if (c == '\\') return escape();
    if (c == '[') {
      ++at_;
      return atom(bracket());
    }
    if (c == '(') return open_group();
    if (c == ')') return close_group();
    if (c == '*' || c == '+' || c == '?') return quantifier(std::string(1, c), 1);
    if (c == '{') return interval();
    if (c == '|' || c == '^' || c == '$') {
      ++at_;
      out_ += c;
      atom_start_ = std::string::npos;
      return;
    }
    if (c == '.') {
      ++at_;
      return atom(".");
    }
    literal(take_code_point());
  }

  void literal(char32_t c) {
    atom(c < 0x80 && std::isalnum(static_cast<int>(c)) ? std::string(1, static_cast<char>(c)) : escaped_character(c));
  }

  // A quantifier after a quantifier repeats the whole of it: PCRE2 would take `{1,3}+` as possessive and refuse `a+*`.
  void quantifier(const std::string& text, size_t size) {
    if (atom_start_ == std::string::npos) refuse("nothing to repeat", at_);
    if (quantified_) {
      out_.insert(atom_start_, "(?:");
      out_ += ")";
    }
    out_ += text;
    at_ += size;
    quantified_ = true;
    // `*+`, `++` and `?+` are possessive, `*?` … lazy; an interval is never possessive, `{n}?` makes it optional.
    const bool interval = text.size() > 1;
    const bool fixed = interval && text.find(',') == std::string::npos;
    if ((peek() == '?' && !fixed) || (peek() == '+' && !interval)) out_ += in_[at_++];
  }

  void interval() {
    size_t end = at_ + 1;
    std::string low, high;
    bool comma = false;
    while (end < in_.size() && (std::isdigit(static_cast<unsigned char>(in_[end])) || (in_[end] == ',' && !comma))) {
      if (in_[end] == ',') {
        comma = true;
      } else {
        (comma ? high : low) += in_[end];
      }
      ++end;
    }
    const bool valid =
        end < in_.size() && in_[end] == '}' && !(low.empty() && high.empty()) && atom_start_ != std::string::npos;
    if (!valid) {
      ++at_;
      return literal('{');
    }
    quantifier("{" + (low.empty() ? "0" : low) + (comma ? "," + high : "") + "}", end + 1 - at_);
  }

  void open_group() {
    groups_.push_back(out_.size());
    atom_start_ = std::string::npos;
    if (peek(1) != '?') {
      ++at_;
      out_ += "(";
      return;
    }
    for (const std::string_view plain : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
      if (!next_is(plain)) continue;
      at_ += plain.size();
      out_ += plain;
      return;
    }
    if (next_is("(?#")) {
      const size_t close = in_.find(')', at_);
      if (close == std::string_view::npos) refuse("comment without end", at_);
      at_ = close + 1;
      groups_.pop_back();
      return;
    }
    if (next_is("(?<")) {
      const size_t close = in_.find('>', at_);
      if (close == std::string_view::npos) refuse("group name without end", at_);
      out_ += in_.substr(at_, close + 1 - at_);
      at_ = close + 1;
      return;
    }
    group_options();
  }

  // (?im-im) and (?im-im:…): `m` of Oniguruma is `s` of PCRE2.
  void group_options() {
    const size_t start = at_;
    at_ += 2;
    std::string options;
    while (peek() == 'i' || peek() == 'm' || peek() == '-') {
      options += peek() == 'm' ? 's' : peek();
      ++at_;
    }
    if (peek() != ':' && peek() != ')')
      refuse("group `" + std::string(in_.substr(start, at_ + 1 - start)) + "` is not supported", start);
    out_ += "(?" + options + in_[at_];
    if (in_[at_++] == ')') {
      // The options hold to the end of the enclosing group and reach over its alternatives in both.
      groups_.pop_back();
    }
  }

  void close_group() {
    if (groups_.empty()) refuse("unmatched `)`", at_);
    ++at_;
    out_ += ")";
    atom_start_ = groups_.back();
    groups_.pop_back();
    quantified_ = false;
  }

  void escape() {
    const size_t start = at_;
    ClassSet set;
    bool negated = false;
    const bool word = peek(1) == 'w' || peek(1) == 'W';
    if (class_escape(set, negated)) {
      if (word) set.items += latin1_word_items();
      return atom(set.expression(negated));
    }
    const char c = peek(1);
    if (c == 'b' || c == 'B') {
      at_ += 2;
      const std::string w = "[" + word_items() + latin1_word_items() + "]";
      out_ += c == 'b' ? "(?:(?<=" + w + ")(?!" + w + ")|(?<!" + w + ")(?=" + w + "))"
                       : "(?:(?<=" + w + ")(?=" + w + ")|(?<!" + w + ")(?!" + w + "))";
      atom_start_ = std::string::npos;
      return;
    }
    if (c == 'A' || c == 'z' || c == 'Z' || c == 'G') {
      at_ += 2;
      out_ += {'\\', c};
      atom_start_ = std::string::npos;
      return;
    }
    if (c == 'R' || c == 'X' || c == 'N' || (c >= '1' && c <= '9')) {
      at_ += 2;
      return atom({'\\', c});
    }
    literal(character_escape(start));
  }

  // \w \W \s \S \d \D \h \H \p{…} \P{…}: sets, inside and outside of a class.
  bool class_escape(ClassSet& set, bool& negated) {
    const char c = peek(1);
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (lower == '\0' || std::string_view("wsdhp").find(lower) == std::string_view::npos) return false;
    negated = c != lower;
    if (lower == 'p') return property(set, negated);
    set.items = lower == 'w' ? word_items() : lower == 's' ? space_items() : lower == 'd' ? category_items("Nd") : hex_items();
    at_ += 2;
    return true;
  }

  bool property(ClassSet& set, bool& negated) {
    const size_t start = at_;
    const size_t close = in_.find('}', at_);
    if (peek(2) != '{' || close == std::string_view::npos) refuse("property without {name}", start);
    std::string name;
    for (const char c : in_.substr(at_ + 3, close - at_ - 3)) {
      if (c != ' ' && c != '_' && c != '-') name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    at_ = close + 1;
    if (name.starts_with('^')) {
      negated = !negated;
      name.erase(0, 1);
    }
    set.items = named_items(name, start);
    return true;
  }

  std::string named_items(const std::string& name, size_t start) const {
    std::string items = property_items(name);
    if (items.empty()) refuse("property `" + name + "` is not supported", start);
    return items;
  }

  // \t, \n, \x41, \x{41}, \u0041, \012, \. …
  char32_t character_escape(size_t start) {
    if (at_ + 1 >= in_.size()) refuse("`\\` at the end", start);
    ++at_;
    const char c = in_[at_];
    constexpr std::string_view kNames = "tnrfvae", kValues = "\t\n\r\f\v\a\x1b";
    if (const size_t named = kNames.find(c); named != std::string_view::npos) {
      ++at_;
      return static_cast<char32_t>(kValues[named]);
    }
    if (c == 'x' && peek(1) == '{') {
      const size_t close = in_.find('}', at_);
      if (close == std::string_view::npos) refuse("`\\x{` without end", start);
      const char32_t value = number(in_.substr(at_ + 2, close - at_ - 2), 16, start);
      at_ = close + 1;
      return value;
    }
    if (c == 'x' || c == 'u') return digits_escape(c == 'x' ? 2 : 4, 16, c == 'u', start);
    if (c == '0') {
      --at_;
      return digits_escape(3, 8, false, start);
    }
    if (std::isalnum(static_cast<unsigned char>(c))) refuse(std::string("`\\") + c + "` is not supported", start);
    return take_code_point();
  }

  char32_t digits_escape(size_t most, int base, bool exact, size_t start) {
    ++at_;
    size_t size = 0;
    while (size < most && std::isxdigit(static_cast<unsigned char>(peek(size))) &&
           (base == 16 || (peek(size) >= '0' && peek(size) < '8')))
      ++size;
    if (size == 0 || (exact && size != most)) refuse("escape without its digits", start);
    const char32_t value = number(in_.substr(at_, size), base, start);
    at_ += size;
    return value;
  }

  char32_t number(std::string_view digits, int base, size_t start) const {
    uint64_t value = 0;
    for (const char c : digits) {
      if (!std::isxdigit(static_cast<unsigned char>(c)) || digits.size() > 8) refuse("bad number in an escape", start);
      value = value * base +
              static_cast<uint64_t>(std::isdigit(static_cast<unsigned char>(c)) ? c - '0' : std::tolower(c) - 'a' + 10);
    }
    if (digits.empty() || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) refuse("no such character", start);
    return static_cast<char32_t>(value);
  }

  // A class from after its `[` to its `]`, as an expression of one character.
  std::string bracket() {
    const size_t start = at_ - 1;
    if (++depth_ > 32) refuse("classes nested too deep", start);
    bool negated = false;
    if (peek() == '^') {
      negated = true;
      ++at_;
    }
    ClassSet set;
    std::string intersection;  // of the operands so far, as lookaheads
    for (bool first = true;; first = false) {
      if (at_ >= in_.size()) refuse("class without `]`", start);
      if (in_[at_] == ']' && !(first && in_.find(']', at_ + 1) != std::string_view::npos)) break;
      if (next_is("&&")) {
        at_ += 2;
        intersection += "(?=" + set.expression(false) + ")";
        set = {};
        continue;
      }
      class_item(set);
    }
    ++at_;
    --depth_;
    if (intersection.empty()) return set.expression(negated);
    const std::string whole = "(?:" + intersection + set.expression(false) + ")";
    return negated ? "(?:(?!" + whole + ")(?s:.))" : whole;
  }

  void class_item(ClassSet& set) {
    if (next_is("[:")) {
      if (posix_bracket(set)) return;
    }
    if (in_[at_] == '[') {
      ++at_;
      set.parts.push_back(bracket());
      return;
    }
    ClassSet inner;
    bool negated = false;
    if (in_[at_] == '\\' && class_escape(inner, negated)) return set.add(inner.items, negated);
    const char32_t low = class_character();
    if (peek() != '-' || peek(1) == ']' || peek(1) == '\0') {
      set.items += escaped_character(low);
      return;
    }
    const size_t dash = at_++;
    if (in_[at_] == '\\' && class_escape(inner, negated)) {  // [a-\d]: the dash stands for itself
      set.items += escaped_character(low) + escaped_character('-');
      return set.add(inner.items, negated);
    }
    if (in_[at_] == '[') refuse("range that ends in a class", dash);
    const char32_t high = class_character();
    if (high < low) refuse("empty range in a class", dash);
    set.items += escaped_character(low) + "-" + escaped_character(high);
  }

  char32_t class_character() {
    if (in_[at_] != '\\') return take_code_point();
    if (peek(1) == 'b') {
      at_ += 2;
      return 8;
    }
    return character_escape(at_);
  }

  bool posix_bracket(ClassSet& set) {
    const size_t close = in_.find(":]", at_);
    if (close == std::string_view::npos) return false;
    std::string name(in_.substr(at_ + 2, close - at_ - 2));
    const bool negated = name.starts_with('^');
    if (negated) name.erase(0, 1);
    if (name.empty() || !std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c); })) return false;
    set.add(named_items(name, at_), negated);
    at_ = close + 2;
    return true;
  }

  std::string_view in_;
  size_t at_ = 0;
  std::string out_;
  size_t atom_start_ = std::string::npos;  // of the last atom in out_; npos when there is nothing to repeat
  bool quantified_ = false;                // the last atom has a quantifier already
  std::vector<size_t> groups_;             // where open groups start in out_
  int depth_ = 0;                          // of nested classes
};

}  // namespace

std::string pcre2_pattern(std::string_view oniguruma) {
  return Translator(oniguruma).run();
}

std::string literal_pattern(std::string_view text) {
  std::string pattern;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    pattern += escaped_character(c.value);
    at += c.size_bytes;
  }
  return pattern;
}

}  // namespace tp
