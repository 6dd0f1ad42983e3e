#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

// A parsed command line. Values are asked for by the name of their row in option_table(); asking for a name without a row,
// or as another type, is a std::logic_error.
class Options {
 public:
  std::string command;               // empty when a program follows `--`
  std::string action;                // second word: `check` of `plan check`
  std::vector<std::string> program;  // what follows `--`
  bool has_program = false;          // there was a `--`

  // Was it on the command line (a default does not count)?
  bool given(std::string_view name) const;
  bool flag(std::string_view name) const;
  // The value, else the row's default, else empty.
  std::string text(std::string_view name) const;
  std::optional<int64_t> count(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  const std::vector<std::string>& texts(std::string_view name) const;

 private:
  friend class OptionParser;
  std::map<std::string, std::vector<std::string>, std::less<>> given_;  // validated text of each option on the command line
};

// Parses what follows the program's name. Options may stand anywhere before `--`; `_` in a name is `-`; the last of a repeated
// option wins, unless it is one that collects. Throws Error: unknown option or command (near names), missing or bad value,
// an option or command that this version does not have (by its name), a first word that is a file.
Options parse_options(const std::vector<std::string>& arguments);

}  // namespace tp
