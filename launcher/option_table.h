#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

enum class OptionType {
  kFlag,    // no value; `=true` and `=false` are understood
  kText,    // any text
  kTexts,   // any text, may be given again and again
  kCount,   // whole number >= 0
  kNumber,  // finite decimal number
};

// Who reads an option: the launcher, the workers (through the Job), or both.
enum class OptionGoal { kLauncher, kJob, kBoth };

enum class OptionGroup { kLaunch, kModel, kGenerate, kServe, kReports };

// One option of the command line. `--help`, the parser, shell completion and the option table of the docs all come from
// option_table(), and nothing else knows an option's name, type or default.
struct OptionRow {
  std::string_view name;  // without dashes, words joined by `-`
  OptionType type = OptionType::kText;
  OptionGroup group = OptionGroup::kLaunch;
  OptionGoal goal = OptionGoal::kLauncher;
  std::string_view value_name;     // as help shows it; empty for a flag
  std::string_view default_value;  // what the program uses when the option is not given; empty = none
  std::string_view default_note;   // how help describes a default that depends on other things
  std::string_view help;
  std::vector<std::string_view> choices;  // empty = any value
};

const std::vector<OptionRow>& option_table();
// Throws std::logic_error for a name that has no row.
const OptionRow& option_row(std::string_view name);
std::vector<std::string> option_names();
std::string_view group_title(OptionGroup group);

// A first word of the command line.
struct CommandRow {
  std::string_view name;
  std::vector<std::string_view> actions;  // second words (`plan check`); empty = none
  bool on_ranks = false;                  // runs on every rank; otherwise here, and nothing is started
  std::string_view help;
};

const std::vector<CommandRow>& command_table();
// nullptr for a name that is no command.
const CommandRow* find_command(std::string_view name);

}  // namespace tp
