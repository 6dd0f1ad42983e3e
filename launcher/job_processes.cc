#include "launcher/job_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace tp {
namespace {

std::string read_whole(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[16384];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(n));
  close(fd);
  return text;
}

}  // namespace

std::vector<pid_t> processes_of_job(const std::string& job_id) {
  // Variables are separated by zero bytes, so the entry is compared whole.
  const std::string entry = std::string(kJobIdVariable) + "=" + job_id;
  std::vector<pid_t> found;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return found;
  while (const dirent* item = readdir(proc)) {
    const pid_t pid = std::atoi(item->d_name);
    if (pid <= 0 || pid == getpid()) continue;
    const std::string environ = std::string(1, '\0') + read_whole("/proc/" + std::to_string(pid) + "/environ");
    const size_t at = environ.find(std::string(1, '\0') + entry);
    if (at == std::string::npos) continue;
    const size_t end = at + 1 + entry.size();
    if (end == environ.size() || environ[end] == '\0') found.push_back(pid);
  }
  closedir(proc);
  return found;
}

bool kill_processes_of_job(const std::string& job_id, double timeout_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  for (;;) {
    const std::vector<pid_t> left = processes_of_job(job_id);
    if (left.empty()) return true;
    for (pid_t pid : left) kill(pid, SIGKILL);
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace tp
