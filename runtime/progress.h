#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tp {

// Tells on stderr how a long piece of work goes: what is done, the rate and the time that is left. Quiet for the first
// second; then one line that is overwritten on a terminal, and elsewhere a line each time twice as much time has passed.
class Progress {
 public:
  // `what` = "loading weights"; `unit` = "MB" with `unit_size` = 1e6.
  Progress(std::string what, std::string unit, double unit_size);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(int64_t done, int64_t total);

 private:
  std::string what_, unit_;
  double unit_size_;
  bool terminal_;
  bool line_open_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double next_s_ = 1.0;
};

// "loading weights: 512 of 2048 MB, 256 MB/s, 6 s left"
std::string progress_line(const std::string& what, const std::string& unit, double done, double total, double seconds);

}  // namespace tp
