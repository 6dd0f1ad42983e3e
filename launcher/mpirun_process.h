#pragma once

#include <sys/types.h>

#include <string>

#include "launcher/mpi_command.h"

namespace tp {

// The running mpirun, or another program that tprun asks. It is in a process group of its own, so that Ctrl-C reaches tprun
// alone; it blocks the signals that tprun blocks; it dies with tprun. What it writes is kept, since tprun tells the story of a
// failure itself.
class MpirunProcess {
 public:
  explicit MpirunProcess(const MpiCommand& command);
  ~MpirunProcess();
  MpirunProcess(const MpirunProcess&) = delete;
  MpirunProcess& operator=(const MpirunProcess&) = delete;

  int output_fd() const { return output_fd_; }  // -1 once it is closed
  void read_output();
  void reap();  // after SIGCHLD
  void kill();
  // mpirun that gives up sleeps in seconds between its steps. This ends a second of it, and is nothing to one that does not.
  void hurry();
  bool ended() const { return ended_; }
  int code() const { return code_; }      // exit code, when no signal ended it
  int signal() const { return signal_; }  // that ended it; 0 = none
  bool is_pending(int number) const;      // was it sent a signal that it has blocked?
  const std::string& output() const { return output_; }

 private:
  pid_t pid_ = 0;
  int output_fd_ = -1;
  bool ended_ = false;
  int code_ = 0, signal_ = 0;
  std::string output_;
};

// Reads and waits until it has ended; false when that took longer.
bool wait_for_end(MpirunProcess& process, double timeout_s);

}  // namespace tp
