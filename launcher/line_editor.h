#pragma once

#include <optional>
#include <string>

namespace tp {

// Lines that a user types: edited and with a history on a terminal (libedit), else read as they are.
class LineEditor {
 public:
  LineEditor();
  bool on_terminal() const { return terminal_; }
  // The next line without its end; nullopt at the end of input. Ctrl-C throws the line away and asks again.
  std::optional<std::string> line(const std::string& prompt);
  // The next message: lines that end in `\` go on in the next one, and what stands between lines of `"""` is one message.
  std::optional<std::string> message();

 private:
  bool terminal_;
};

}  // namespace tp
