#include "launcher/background_job.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr int kPollMs = 200;

struct Pipe {
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error("pipe", std::strerror(errno));
  }
  int ends[2];
};

}  // namespace

BackgroundJob::BackgroundJob(const std::function<int()>& run) {
  const Pipe in, out;
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw Error("fork", std::strerror(errno));
  if (pid_ == 0) {
    // Ctrl-C of the terminal is for the process in its foreground alone.
    setpgid(0, 0);
    dup2(in.ends[0], STDIN_FILENO);
    dup2(out.ends[1], STDOUT_FILENO);
    for (const int end : {in.ends[0], in.ends[1], out.ends[0], out.ends[1]}) close(end);
    const int code = run();
    std::fflush(nullptr);
    _exit(code);
  }
  close(in.ends[0]);
  close(out.ends[1]);
  to_job_ = in.ends[1];
  from_job_ = out.ends[0];
}

BackgroundJob::~BackgroundJob() {
  if (pid_ > 0) wait();
  close(from_job_);
}

void BackgroundJob::send(const std::string& line) {
  const std::string text = line + "\n";
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t size = write(to_job_, text.data() + sent, text.size() - sent);
    if (size < 0 && errno != EINTR) return;
    if (size > 0) sent += static_cast<size_t>(size);
  }
}

std::optional<std::string> BackgroundJob::line(const std::function<bool()>& interrupted) {
  for (size_t end; (end = buffer_.find('\n')) == std::string::npos;) {
    if (interrupted()) return std::nullopt;
    pollfd ready{from_job_, POLLIN, 0};
    if (poll(&ready, 1, kPollMs) <= 0) continue;
    char part[1 << 14];
    const ssize_t size = read(from_job_, part, sizeof(part));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      ended_ = true;
      return std::nullopt;
    }
    buffer_.append(part, static_cast<size_t>(size));
  }
  const size_t end = buffer_.find('\n');
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

void BackgroundJob::stop() {
  kill(pid_, SIGTERM);
}

int BackgroundJob::wait() {
  if (to_job_ >= 0) close(to_job_);
  to_job_ = -1;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace tp
