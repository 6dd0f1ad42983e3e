#include "launcher/line_editor.h"

#include <editline/readline.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <iostream>

#include "launcher/interrupts.h"

namespace tp {

LineEditor::LineEditor() : terminal_(isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) {
  std::setlocale(LC_CTYPE, "");  // characters of several bytes are one to the editor
}

std::optional<std::string> LineEditor::line(const std::string& prompt) {
  if (!terminal_) {
    std::string text;
    if (!std::getline(std::cin, text)) return std::nullopt;
    return text;
  }
  for (;;) {
    take_interrupt();
    char* typed = readline(prompt.c_str());
    if (typed == nullptr && take_interrupt()) {
      std::cout << "\n" << std::flush;
      continue;
    }
    if (typed == nullptr) return std::nullopt;
    std::string text = typed;
    std::free(typed);
    if (!text.empty()) add_history(text.c_str());
    return text;
  }
}

std::optional<std::string> LineEditor::message() {
  std::optional<std::string> text = line("> ");
  if (text == "\"\"\"") {
    std::string block;
    for (text = line(". "); text && text != "\"\"\""; text = line(". ")) block += (block.empty() ? "" : "\n") + *text;
    return block;
  }
  while (text && text->ends_with('\\')) {
    text->back() = '\n';
    const std::optional<std::string> more = line(". ");
    if (!more) break;
    *text += *more;
  }
  return text;
}

}  // namespace tp
