#include "launcher/output_sink.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace tp {
namespace {
constexpr size_t kFull = size_t{1} << 20;
constexpr int kPollMs = 50;
}  // namespace

OutputSink::OutputSink(int fd) : fd_(fd), thread_([this] { run(); }) {}

OutputSink::~OutputSink() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void OutputSink::write(std::string_view bytes) {
  if (bytes.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (error_ != 0) return;
    queue_.append(bytes);
  }
  changed_.notify_all();
}

bool OutputSink::full() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() > kFull;
}

int OutputSink::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

bool OutputSink::wait_empty(double timeout_s) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(timeout_s),
                           [&] { return error_ != 0 || (queue_.empty() && !writing_); });
}

void OutputSink::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    const std::string part = std::move(queue_);
    queue_.clear();
    writing_ = true;
    lock.unlock();
    size_t done = 0;
    int failed = 0;
    bool stopped = false;
    while (done < part.size() && failed == 0 && !stopped) {
      // Asking first keeps the thread able to stop; a pipe that is ready takes at least PIPE_BUF without blocking.
      pollfd ready{fd_, POLLOUT, 0};
      if (poll(&ready, 1, kPollMs) > 0) {
        const ssize_t n = ::write(fd_, part.data() + done, std::min<size_t>(part.size() - done, 4096));
        if (n >= 0) done += static_cast<size_t>(n);
        if (n < 0 && errno != EINTR && errno != EAGAIN) failed = errno;
      }
      const std::lock_guard check(mutex_);
      stopped = stop_;
    }
    lock.lock();
    writing_ = false;
    error_ = failed;
    if (error_ != 0) queue_.clear();
    changed_.notify_all();
  }
}

}  // namespace tp
