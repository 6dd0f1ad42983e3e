#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace tp {

// The one exception type of the project. Errors of yaml-cpp, Boost, c10, PJRT and MPI are converted to it where the
// library is called; only a main catches it. It is printed as
//   tprun: error: WHERE: WHAT
//     fix: FIX
// where `where` is a file (`my.yaml:14:9`), an option (`--cache-len`) or a tensor name and may be empty, and `fix` says
// how to mend it and may be empty.
class Error : public std::runtime_error {
 public:
  Error(std::string where, std::string what, std::string fix = "");

  const std::string& where() const { return where_; }
  const std::string& message() const { return message_; }
  const std::string& fix() const { return fix_; }

  // The lines that follow "tprun: error: ", without a newline at the end.
  std::string text() const;

 private:
  std::string where_;
  std::string message_;
  std::string fix_;
};

// Throws all problems as one Error whose text shows each as if it had been printed alone; `problems` must not be empty.
[[noreturn]] void throw_all(const std::vector<Error>& problems);

// Exit code of a refusal: nothing was started (cli.md).
inline constexpr int kExitRefused = 2;

}  // namespace tp
