#include "launcher/chip_holders.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sharding/error.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

std::string first_line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string user_of(const std::string& root, pid_t pid) {
  const std::string dir = root + "/proc/" + std::to_string(pid);
  std::optional<uid_t> uid;
  std::ifstream status(dir + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Uid:")) uid = static_cast<uid_t>(std::strtoul(line.c_str() + 4, nullptr, 10));
  }
  struct stat info {};
  if (!uid && stat(dir.c_str(), &info) == 0) uid = info.st_uid;
  if (!uid) return "?";
  const passwd* entry = getpwuid(*uid);
  return entry != nullptr ? entry->pw_name : std::to_string(*uid);
}

}  // namespace

ChipHolder describe_process(const std::string& root, pid_t pid) {
  const std::string dir = root + "/proc/" + std::to_string(pid);
  std::ifstream file(dir + "/cmdline", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  std::string command = text.str();
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  if (command.empty()) command = first_line_of(dir + "/comm");
  return {pid, user_of(root, pid), command};
}

void find_holders(const std::string& root, std::vector<Chip>& chips) {
  std::error_code ignored;
  for (const auto& process : fs::directory_iterator(root + "/proc", ignored)) {
    const pid_t pid = std::atoi(process.path().filename().c_str());
    if (pid <= 0) continue;
    std::error_code closed;
    for (auto fd = fs::directory_iterator(process.path() / "fd", closed); !closed && fd != fs::directory_iterator();
         fd.increment(closed)) {
      std::error_code gone;
      std::string target = fs::read_symlink(fd->path(), gone);
      if (gone) continue;
      if (!root.empty() && target.starts_with(root)) target = target.substr(root.size());
      for (Chip& chip : chips) {
        if (target == chip.path && !chip.holder) chip.holder = describe_process(root, pid);
      }
    }
  }
}

std::string holder_text(const ChipHolder& holder) {
  return "pid " + std::to_string(holder.pid) + " (" + holder.user + "): " + holder.command;
}

void require_free_chips(const HostChips& host, int ranks) {
  std::string held;
  int devices = 0;
  for (const Chip& chip : host.usable) {
    if (devices >= ranks) break;
    devices += chip_generation(chip.generation).devices;
    if (chip.holder) held += (held.empty() ? "" : "; ") + chip.path + " is held by " + holder_text(*chip.holder);
  }
  if (!held.empty()) throw Error("chips", held, "wait for that process or end it; `tprun devices` shows who holds what");
}

LibtpuLock libtpu_lock(const fs::path& path) {
  LibtpuLock lock;
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  std::error_code ignored;
  lock.exists = fd >= 0 || fs::exists(path, ignored);
  if (fd < 0) return lock;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    lock.held = true;
  } else {
    flock(fd, LOCK_UN);
  }
  struct flock record {};
  record.l_type = F_WRLCK;
  record.l_whence = SEEK_SET;
  if (fcntl(fd, F_GETLK, &record) == 0 && record.l_type != F_UNLCK) {
    lock.held = true;
    if (record.l_pid > 0) lock.holder = describe_process("", record.l_pid);
  }
  // The kernel tells who holds a flock only in /proc/locks, by inode.
  struct stat info {};
  if (lock.held && !lock.holder && fstat(fd, &info) == 0) {
    std::ifstream locks("/proc/locks");
    for (std::string line; std::getline(locks, line);) {
      std::istringstream words(line);
      std::string number, kind, mode, access;
      long pid = 0;
      std::string place;
      words >> number >> kind >> mode >> access >> pid >> place;
      if (pid > 0 && place.ends_with(":" + std::to_string(info.st_ino)))
        lock.holder = describe_process("", static_cast<pid_t>(pid));
    }
  }
  close(fd);
  return lock;
}

}  // namespace tp
