#include "runtime/serve/slow_clients.h"

#include <algorithm>
#include <set>

namespace tp {

SlowClients::~SlowClients() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SlowClients::start(int port) {
  thread_ = std::thread([this, port] { watch(port); });
}

void SlowClients::header_came(const SocketEnd& client) {
  const std::lock_guard lock(mutex_);
  since_[client] = Clock::now();
}

std::shared_ptr<void> SlowClients::answering(const SocketEnd& client) {
  const std::lock_guard lock(mutex_);
  since_[client] = Clock::time_point::max();
  return {nullptr, [this, client](void*) { header_came(client); }};
}

void SlowClients::watch(int port) {
  const auto look = std::min<std::chrono::milliseconds>(limit_ / 4, std::chrono::seconds(1));
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, look, [this] { return stop_; })) end_late_ones(port);
}

void SlowClients::end_late_ones(int port) {
  const Clock::time_point now = Clock::now();
  std::set<SocketEnd> connected;
  for_each_connection([&](int descriptor, const SocketEnd& own, const SocketEnd& other) {
    if (own.port != port) return;
    connected.insert(other);
    const Clock::time_point since = since_.try_emplace(other, now).first->second;
    if (since < now && now - since > limit_) end_connection(descriptor, other);
  });
  std::erase_if(since_, [&](const auto& client) {
    return client.second != Clock::time_point::max() && !connected.contains(client.first);
  });
}

}  // namespace tp
