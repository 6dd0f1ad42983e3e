#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace tp {

// Writes to a descriptor from a thread of its own, in order, so that a reader who stops reading never stops supervision.
// SIGPIPE must be ignored by the process.
class OutputSink {
 public:
  explicit OutputSink(int fd);
  ~OutputSink();  // does not wait for what is queued
  OutputSink(const OutputSink&) = delete;
  OutputSink& operator=(const OutputSink&) = delete;

  void write(std::string_view bytes);
  bool full() const;  // more is queued than a slow reader should be allowed to pile up
  int error() const;  // errno of the write that failed, EPIPE when the reader is gone: the rest goes nowhere; else 0
  bool wait_empty(double timeout_s);  // true when all is written or nobody reads

 private:
  void run();

  int fd_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string queue_;
  bool writing_ = false, stop_ = false;
  int error_ = 0;
  std::thread thread_;
};

}  // namespace tp
