#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

struct Span {
  size_t begin, end;  // bytes
};

// A compiled pattern of a tokenizer.json, for searching in valid UTF-8. May be shared between threads.
class Regex {
 public:
  // In Oniguruma's syntax; throws std::invalid_argument (what is wrong, at which offset).
  static Regex pattern(std::string_view oniguruma);
  static Regex literal(std::string_view text);

  // All matches from left to right. An empty match right behind another one is passed over. Throws Error when the pattern
  // needs more steps than are sensible (a pattern that backtracks without end).
  std::vector<Span> find_all(std::string_view text) const;

 private:
  struct Compiled;
  explicit Regex(const std::string& pcre2_pattern);
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tp
