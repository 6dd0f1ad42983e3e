#include "launcher/port_lease.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <string>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr int kLowest = 20000, kHighest = 65535, kFewest = 1000;

struct PortRange {
  int first, last;
};

// Outside of what the kernel picks for sockets that name no port.
PortRange port_range() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  int low = 32768, high = 60999;
  file >> low >> high;
  if (low - kLowest >= kFewest) return {kLowest, low - 1};
  if (kHighest - high >= kFewest) return {high + 1, kHighest};
  return {kLowest, kHighest};
}

int hold_name(int port) {
  const std::string name = "tprun-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

bool can_bind(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // As servers do: connections that linger from an earlier job do not make a port taken.
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool bound =
      fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 && listen(fd, 1) == 0;
  if (fd >= 0) close(fd);
  return bound;
}

}  // namespace

PortLease PortLease::any() {
  const PortRange range = port_range();
  const int count = range.last - range.first + 1;
  std::random_device random;
  const int start = static_cast<int>(random() % static_cast<unsigned>(count));
  for (int i = 0; i < count; ++i) {
    const int port = range.first + (start + i) % count;
    const int fd = hold_name(port);
    if (fd < 0) continue;
    if (can_bind(port)) return {port, fd};
    close(fd);
  }
  throw Error("ports", "none of " + std::to_string(range.first) + " to " + std::to_string(range.last) + " is free",
              "end programs that listen on them, or give --master-port");
}

PortLease PortLease::exactly(int port, const char* where) {
  if (port < 1 || port > kHighest) throw Error(where, std::to_string(port) + " is not a port", "a number from 1 to 65535");
  const int fd = hold_name(port);
  if (fd >= 0 && can_bind(port)) return {port, fd};
  if (fd >= 0) close(fd);
  throw Error(where, "port " + std::to_string(port) + " is taken", "leave it out: tprun finds a free port");
}

PortLease::~PortLease() {
  if (fd_ >= 0) close(fd_);
}

PortLease::PortLease(PortLease&& other) noexcept : port_(other.port_), fd_(other.fd_) {
  other.fd_ = -1;
}

}  // namespace tp
