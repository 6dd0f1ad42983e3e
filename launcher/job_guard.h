#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace tp {

// What a job leaves on this host, and who takes it away: the job's id, a private directory for everything that Open MPI and
// the ranks keep in files, and a small process that waits for tprun to end and, if it did not end in good order, kills what
// carries the job's id and removes the directory. Neither needs tprun to be alive.
class JobGuard {
 public:
  // Makes the directory in /dev/shm (else the temporary directory) and starts the waiting process. Also removes directories
  // whose job nobody guards any more. Call before threads are started.
  JobGuard();
  ~JobGuard();  // kills what is left of the job, removes the directory, ends the waiting process
  JobGuard(const JobGuard&) = delete;
  JobGuard& operator=(const JobGuard&) = delete;

  const std::string& job_id() const { return job_id_; }
  const std::filesystem::path& runtime_dir() const { return runtime_dir_; }
  // Kills every process of the job; for between two attempts.
  void clear_processes();

 private:
  std::string job_id_;
  std::filesystem::path runtime_dir_;
  int lock_fd_ = -1;
  int pipe_fd_ = -1;
  pid_t watcher_ = 0;
};

// 16 random hexadecimal digits.
std::string random_id();

}  // namespace tp
