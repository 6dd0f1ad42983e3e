#include "launcher/mpirun_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr size_t kKeptOutput = size_t{16} << 10;
constexpr int kEndMs = 2000, kReapMs = 2;  // of one that was killed
constexpr int kClosedMs = 5;

[[noreturn]] void become_mpirun(const MpiCommand& command, int output_fd, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, 0);
  dup2(output_fd, 1);
  dup2(output_fd, 2);
  // A shell that runs tprun in the background ignores SIGINT; what tprun ignores is its own matter.
  for (int number : {SIGPIPE, SIGTTIN, SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_UNBLOCK, &children, nullptr);
  for (const auto& [name, value] : command.env) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& argument : command.argv) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

}  // namespace

MpirunProcess::MpirunProcess(const MpiCommand& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error("mpirun", std::string("pipe: ") + std::strerror(errno));
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw Error("mpirun", std::string("fork: ") + std::strerror(errno));
  if (pid_ == 0) become_mpirun(command, ends[1], parent);
  setpgid(pid_, pid_);
  close(ends[1]);
  output_fd_ = ends[0];
  fcntl(output_fd_, F_SETFL, fcntl(output_fd_, F_GETFL) | O_NONBLOCK);
}

MpirunProcess::~MpirunProcess() {
  kill();
  // One that the kernel cannot end (a dead file server) is left to it.
  for (int ms = 0; !ended_ && ms < kEndMs; ms += kReapMs) {
    reap();
    if (!ended_) usleep(kReapMs * 1000);
  }
  if (output_fd_ >= 0) close(output_fd_);
}

void MpirunProcess::read_output() {
  char buffer[4096];
  while (output_fd_ >= 0) {
    const ssize_t n = read(output_fd_, buffer, sizeof(buffer));
    if (n > 0) {
      if (output_.size() < kKeptOutput) output_.append(buffer, static_cast<size_t>(n));
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    } else {
      close(output_fd_);
      output_fd_ = -1;
    }
  }
}

void MpirunProcess::reap() {
  int status = 0;
  if (ended_ || waitpid(pid_, &status, WNOHANG) != pid_) return;
  ended_ = true;
  signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

void MpirunProcess::kill() {
  if (!ended_) ::kill(pid_, SIGKILL);
}

void MpirunProcess::hurry() {
  // It handles SIGCHLD from its start on, and sleep() returns for every signal that is handled.
  if (!ended_) ::kill(pid_, SIGCHLD);
}

bool MpirunProcess::is_pending(int number) const {
  if (ended_) return false;
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("ShdPnd:")) continue;
    return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (number - 1)) & 1;
  }
  return false;
}

bool wait_for_end(MpirunProcess& process, double timeout_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  while (!process.ended()) {
    const std::chrono::duration<double, std::milli> left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return false;
    // With its output closed it is about to end; nothing but time tells when.
    pollfd output{process.output_fd(), POLLIN, 0};
    poll(&output, 1, process.output_fd() < 0 ? kClosedMs : std::max(1, static_cast<int>(left.count())));
    process.read_output();
    process.reap();
  }
  process.read_output();
  return true;
}

}  // namespace tp
