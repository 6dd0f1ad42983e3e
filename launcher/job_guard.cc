#include "launcher/job_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "launcher/job_processes.h"
#include "launcher/options_environment.h"
#include "sharding/error.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

constexpr double kKillTimeoutS = 10;

std::string directory_prefix() {
  return "tprun-" + std::to_string(getuid()) + "-";
}

fs::path base_directory() {
  if (access("/dev/shm", W_OK) == 0) return "/dev/shm";
  return environment("TMPDIR").value_or("/tmp");
}

// The lock on a job's directory is held by tprun and by its watcher; once both are gone nobody else will clean up.
void remove_abandoned(const fs::path& base) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(base, ignored)) {
    if (!entry.path().filename().string().starts_with(directory_prefix())) continue;
    const int fd = open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
    close(fd);
  }
}

[[noreturn]] void watch(int pipe_fd, int lock_fd, const std::string& job_id, const fs::path& dir) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  prctl(PR_SET_NAME, "tprun-watcher");
  setsid();
  // Whoever reads tprun's output must not wait for this process.
  for (int fd = 0; fd < static_cast<int>(sysconf(_SC_OPEN_MAX)) && fd < 1024; ++fd) {
    if (fd != pipe_fd && fd != lock_fd) close(fd);
  }
  char byte = 0;
  ssize_t n = 0;
  do {
    n = read(pipe_fd, &byte, 1);  // nobody writes: it ends when tprun ends
  } while (n < 0 && errno == EINTR);
  kill_processes_of_job(job_id, kKillTimeoutS);
  std::error_code ignored;
  fs::remove_all(dir, ignored);
  _exit(0);
}

}  // namespace

std::string random_id() {
  std::random_device random;
  char text[17];
  std::snprintf(text, sizeof(text), "%08x%08x", random(), random());
  return text;
}

JobGuard::JobGuard() : job_id_(random_id()) {
  const fs::path base = base_directory();
  remove_abandoned(base);
  // Made under another name and locked before it gets the one that remove_abandoned() of another tprun looks at.
  const fs::path hidden = base / (".tprun-" + job_id_);
  runtime_dir_ = base / (directory_prefix() + job_id_);
  std::error_code error;
  fs::create_directory(hidden, error);
  fs::permissions(hidden, fs::perms::owner_all, error);
  lock_fd_ = open(hidden.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!error && lock_fd_ >= 0 && flock(lock_fd_, LOCK_EX | LOCK_NB) == 0) fs::rename(hidden, runtime_dir_, error);
  int ends[2];
  if (error || lock_fd_ < 0 || pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(base, "cannot be written: " + (error ? error.message() : std::strerror(errno)),
                "set TMPDIR to a directory that can");
  }
  pipe_fd_ = ends[1];
  watcher_ = fork();
  if (watcher_ == 0) {
    close(pipe_fd_);
    watch(ends[0], lock_fd_, job_id_, runtime_dir_);
  }
  close(ends[0]);
}

void JobGuard::clear_processes() {
  kill_processes_of_job(job_id_, kKillTimeoutS);
}

JobGuard::~JobGuard() {
  clear_processes();
  std::error_code ignored;
  fs::remove_all(runtime_dir_, ignored);
  // It has nothing left to do; SIGKILL ends it even if somebody stopped it.
  if (watcher_ > 0 && kill(watcher_, SIGKILL) == 0) waitpid(watcher_, nullptr, 0);
  close(pipe_fd_);
  close(lock_fd_);
}

}  // namespace tp
