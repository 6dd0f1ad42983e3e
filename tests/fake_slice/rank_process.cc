#include "tests/fake_slice/rank_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <thread>
#include <utility>

namespace tp {
namespace {

using Clock = std::chrono::steady_clock;

int left_ms(Clock::time_point deadline) {
  return static_cast<int>(std::max<int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count()));
}

}  // namespace

RankProcess::RankProcess(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<std::string> words = command, variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : variables) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const int error = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  fd_ = ends[0];
  if (error != 0) throw std::runtime_error("cannot start " + command[0]);
}

RankProcess::RankProcess(RankProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), fd_(std::exchange(other.fd_, -1)), output_(std::move(other.output_)) {}

RankProcess::~RankProcess() {
  if (pid_ > 0) {
    kill();
    waitpid(pid_, nullptr, 0);
  }
  if (fd_ >= 0) close(fd_);
}

// False at the end of the output, or when nothing came in time.
bool RankProcess::read_some(int timeout_ms) {
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, timeout_ms) <= 0) return false;
  char chunk[4096];
  const ssize_t n = read(fd_, chunk, sizeof(chunk));
  if (n <= 0) return false;
  output_.append(chunk, static_cast<size_t>(n));
  return true;
}

bool RankProcess::read_until(const std::string& text, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (output_.find(text) == std::string::npos) {
    if (!read_some(left_ms(deadline))) return false;
  }
  return true;
}

void RankProcess::kill() {
  ::kill(pid_, SIGKILL);
}

int RankProcess::wait(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (read_some(left_ms(deadline))) {
  }
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (Clock::now() > deadline) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace tp
