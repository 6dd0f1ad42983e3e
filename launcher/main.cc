// tprun: the launcher. Options to a job, a job to ranks, ranks to an exit code.
#include <fcntl.h>

#include <csignal>
#include <cstdio>
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

}  // namespace

int main(int argc, char** argv) {
  own_streams_and_signals();
  try {
    return tp::run_command(tp::parse_options(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const tp::Error& error) {
    std::fprintf(stderr, "tprun: error: %s\n", error.text().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tprun: error: %s\n", error.what());
  }
  return tp::kExitRefused;
}
