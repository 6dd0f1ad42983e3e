#include "launcher/help.h"

#include "launcher/option_table.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr size_t kHelpColumn = 40;

std::string default_of(const OptionRow& row) {
  return std::string(row.default_value.empty() ? row.default_note : row.default_value);
}

std::string help_line(const std::string& left, const std::string& right) {
  if (left.size() + 2 > kHelpColumn) return left + "\n" + std::string(kHelpColumn, ' ') + right + "\n";
  return left + std::string(kHelpColumn - left.size(), ' ') + right + "\n";
}

std::string usage_of(const OptionRow& row) {
  return "--" + std::string(row.name) + (row.value_name.empty() ? "" : " " + std::string(row.value_name));
}

std::string names_of(const CommandRow& row) {
  std::string text(row.name);
  for (size_t i = 0; i < row.actions.size(); ++i) text += (i == 0 ? " " : "|") + std::string(row.actions[i]);
  return text;
}

std::string_view type_name(OptionType type) {
  switch (type) {
    case OptionType::kFlag:
      return "flag";
    case OptionType::kText:
      return "text";
    case OptionType::kTexts:
      return "text, repeatable";
    case OptionType::kCount:
      return "whole number";
    case OptionType::kNumber:
      return "number";
  }
  return "";
}

std::string_view goal_name(OptionGoal goal) {
  switch (goal) {
    case OptionGoal::kLauncher:
      return "launcher";
    case OptionGoal::kJob:
      return "ranks";
    case OptionGoal::kBoth:
      return "both";
  }
  return "";
}

std::string in_cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

}  // namespace

std::string help_text() {
  std::string text =
      "tprun [options] COMMAND [options]\n"
      "tprun [options] -- PROGRAM [args]        any program on every rank, with the full launch environment\n"
      "\nCommands\n";
  for (const CommandRow& row : command_table()) {
    text += help_line("  " + names_of(row), std::string(row.help) + (row.on_ranks ? " (on every rank)" : ""));
  }
  OptionGroup group{};
  bool first = true;
  for (const OptionRow& row : option_table()) {
    if (first || row.group != group) text += "\n" + std::string(group_title(row.group)) + "\n";
    first = false;
    group = row.group;
    const std::string value = default_of(row);
    text += help_line("  " + usage_of(row), std::string(row.help) + (value.empty() ? "" : " [" + value + "]"));
  }
  text += "\nOptions stand before or after COMMAND, until `--`; `--name value` and `--name=value`; `-` and `_` are the same.\n";
  return text;
}

std::string option_docs() {
  std::string text = "| option | type | default | what it does | read by |\n| --- | --- | --- | --- | --- |\n";
  for (const OptionRow& row : option_table()) {
    text += "| `" + in_cell(usage_of(row)) + "` | " + std::string(type_name(row.type)) + " | " + in_cell(default_of(row)) +
            " | " + in_cell(std::string(row.help)) + " | " + std::string(goal_name(row.goal)) + " |\n";
  }
  return text;
}

std::string completion_script(const std::string& shell) {
  std::string words, cases;
  for (const CommandRow& row : command_table()) {
    words += std::string(row.name) + " ";
    if (row.actions.empty()) continue;
    cases += "    " + std::string(row.name) + ") words=\"";
    for (size_t i = 0; i < row.actions.size(); ++i) cases += (i == 0 ? "" : " ") + std::string(row.actions[i]);
    cases += "\" ;;\n";
  }
  for (const OptionRow& row : option_table()) {
    words += "--" + std::string(row.name) + " ";
    if (row.choices.empty()) continue;
    cases += "    --" + std::string(row.name) + ") words=\"";
    for (size_t i = 0; i < row.choices.size(); ++i) cases += (i == 0 ? "" : " ") + std::string(row.choices[i]);
    cases += "\" ;;\n";
  }
  std::string script = shell == "zsh" ? "autoload -Uz bashcompinit && bashcompinit\n" : "";
  script += "_tprun() {\n  local words=\"" + words + "\"\n  case \"${COMP_WORDS[COMP_CWORD-1]}\" in\n" + cases +
            "  esac\n"
            "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
            "  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
            "}\ncomplete -F _tprun tprun\n";
  return script;
}

}  // namespace tp
