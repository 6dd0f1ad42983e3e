#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/serve/connections.h"

namespace tp {

// Ends the connections whose request does not arrive in time. The HTTP library bounds each wait for a byte alone, so a client
// that sends its header or body byte by byte would hold a thread as long as it likes, and some dozens of them all there are.
class SlowClients {
 public:
  // `limit` is what a header may take, and a body behind it. Nothing is watched before start().
  explicit SlowClients(std::chrono::milliseconds limit) : limit_(limit) {}
  ~SlowClients();
  SlowClients(const SlowClients&) = delete;
  SlowClients& operator=(const SlowClients&) = delete;

  // `port` is where this process listens.
  void start(int port);
  // The header of this client's request is here.
  void header_came(const SocketEnd& client);
  // The whole request of this client is here, and nobody counts while what is returned lives.
  std::shared_ptr<void> answering(const SocketEnd& client);

 private:
  using Clock = std::chrono::steady_clock;
  void watch(int port);
  void end_late_ones(int port);

  std::chrono::milliseconds limit_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::map<SocketEnd, Clock::time_point> since_;  // since when a client has been sending; max while it is being answered
  std::thread thread_;
};

}  // namespace tp
