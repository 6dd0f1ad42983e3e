#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace tp {

// A child process whose output a test reads. Killed, if it still runs, when the object goes away.
class RankProcess {
 public:
  // `environment` is added to the test's own.
  RankProcess(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment);
  RankProcess(RankProcess&& other) noexcept;
  RankProcess& operator=(RankProcess&&) = delete;
  ~RankProcess();

  // Reads until the output contains `text`; false when it ends or time is up before that.
  bool read_until(const std::string& text, std::chrono::milliseconds timeout);
  void kill();
  // Exit code, or 128 + signal; -1 if it still runs after `timeout`.
  int wait(std::chrono::milliseconds timeout);
  // Standard output and error so far; all of it after wait().
  const std::string& output() const { return output_; }

 private:
  bool read_some(int timeout_ms);

  pid_t pid_ = -1;
  int fd_ = -1;
  std::string output_;
};

}  // namespace tp
