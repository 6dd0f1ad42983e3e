// tprun: the launcher. Options to a job, a job to ranks, ranks to an exit code.
#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "launcher/commands.h"
#include "launcher/options.h"
#include "sharding/error.h"

namespace {

// A descriptor that the caller closed would be given to the next file or socket, and output would go there.
void own_streams_and_signals() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
  }
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write
  std::signal(SIGCHLD, SIG_DFL);  // a parent that ignores it would have its children's ends kept from them
}

// What a command printed may still wait here, and would be lost without a word. A closed pipe is no error of ours.
int code_with_output(int code) {
  const bool failed = std::fflush(stdout) != 0;
  const int why = errno;
  if (!failed && std::ferror(stdout) == 0) return code;
  pollfd output{1, POLLOUT, 0};
  if (poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) return 128 + SIGPIPE;
  std::fprintf(stderr, "tprun: error: standard output: %s\n", failed ? std::strerror(why) : "not all could be written");
  return code == 0 ? 1 : code;
}

}  // namespace

int main(int argc, char** argv) {
  own_streams_and_signals();
  try {
    return code_with_output(tp::run_command(tp::parse_options(std::vector<std::string>(argv + 1, argv + argc))));
  } catch (const tp::Error& error) {
    std::fprintf(stderr, "tprun: error: %s\n", error.text().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tprun: error: %s\n", error.what());
  }
  return tp::kExitRefused;
}
