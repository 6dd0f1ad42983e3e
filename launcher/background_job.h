#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace tp {

// A job that is supervised by a process of its own, in the background of the terminal, so that this one can talk with the
// user: its standard input and output are lines of text to and from here.
class BackgroundJob {
 public:
  // `run` is called in the new process; its result is the exit code. No other thread may exist yet. Throws Error.
  explicit BackgroundJob(const std::function<int()>& run);
  ~BackgroundJob();
  BackgroundJob(const BackgroundJob&) = delete;
  BackgroundJob& operator=(const BackgroundJob&) = delete;

  // What cannot be sent is dropped: the job has ended, which line() tells.
  void send(const std::string& line);
  // The next line; nullopt at the end of the job, and where `interrupted()` became true while waiting.
  std::optional<std::string> line(const std::function<bool()>& interrupted);
  bool ended() const { return ended_; }
  // Tells the job to end as a SIGTERM does.
  void stop();
  // Ends the input and waits for the process; its exit code, 128 + signal for a signal.
  int wait();

 private:
  pid_t pid_ = -1;
  int to_job_ = -1, from_job_ = -1;
  std::string buffer_;
  bool ended_ = false;
};

}  // namespace tp
