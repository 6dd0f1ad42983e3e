#include "runtime/progress.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace tp {

std::string progress_line(const std::string& what, const std::string& unit, double done, double total, double seconds) {
  const double rate = seconds > 0 ? done / seconds : 0;
  char text[256];
  std::snprintf(text, sizeof(text), ": %.0f of %.0f %s, %.*f %s/s, %.0f s left", done, total, unit.c_str(), rate < 10 ? 1 : 0,
                rate, unit.c_str(), rate > 0 ? std::ceil((total - done) / rate) : 0.0);
  return what + text;
}

Progress::Progress(std::string what, std::string unit, double unit_size)
    : what_(std::move(what)), unit_(std::move(unit)), unit_size_(unit_size), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (line_open_) std::fputc('\n', stderr);
}

void Progress::update(int64_t done, int64_t total) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  if (seconds < next_s_) return;
  next_s_ = terminal_ ? seconds + 0.2 : seconds * 2;
  const std::string line =
      progress_line(what_, unit_, static_cast<double>(done) / unit_size_, static_cast<double>(total) / unit_size_, seconds);
  std::fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n", line.c_str());
  line_open_ = terminal_;
}

}  // namespace tp
