#include "launcher/aot_child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "launcher/program_path.h"
#include "sharding/error.h"

namespace tp {
namespace {

// Runs the program with this argument, where there is one, and this text as its standard input; the status as waitpid gives it.
int run_with_input(const std::string& program, const char* argument, const std::string& input) {
  int ends[2];
  if (pipe(ends) != 0) throw Error(program, std::string("pipe: ") + std::strerror(errno));
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw Error(program, std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(ends[0], 0);
    close(ends[0]);
    close(ends[1]);
    execl(program.c_str(), program.c_str(), argument, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[0]);
  const auto old = ::signal(SIGPIPE, SIG_IGN);  // a child that ended early tells by its status
  size_t written = 0;
  while (written < input.size()) {
    const ssize_t n = write(ends[1], input.data() + written, input.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    written += static_cast<size_t>(n);
  }
  close(ends[1]);
  ::signal(SIGPIPE, old);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

int run_aot_child(const AotRequest& request) {
  const int status = run_with_input(own_program("tprun-aot").string(), nullptr, to_json(request));
  if (WIFSIGNALED(status)) {
    throw Error("tprun-aot", "ended by signal " + std::to_string(WTERMSIG(status)),
                "the lines above may tell why; " + request.libtpu + " must be libtpu");
  }
  return WEXITSTATUS(status);
}

int run_operator_child(const AotRequest& request) {
  const int status = run_with_input(own_program("tprun-rank").string(), "--check-kernels", to_json(request));
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kExitRefused)) return WEXITSTATUS(status);
  std::string packages;
  for (const KernelSource& source : request.kernels) packages += (packages.empty() ? "" : ", ") + source.package;
  throw Error(packages, "its library ends the process that loads it", "the lines above may tell why; leave it out");
}

}  // namespace tp
