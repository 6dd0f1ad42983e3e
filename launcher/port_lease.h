#pragma once

namespace tp {

// A TCP port of this host that no other tprun of the host (more exactly: of its network namespace) gives away while the lease
// lives. A port that is found free, let go and bound later is lost to whoever asks in between, and a port that is held bound
// cannot be bound by programs that do not ask to share it. So ports come from below the range that the kernel hands out by
// itself, and what is held is a name: the abstract Unix socket "tprun-port-N", which vanishes with its holder.
class PortLease {
 public:
  // Throws Error when no port is free.
  static PortLease any();
  // The port itself when nobody listens on it and nobody leases it, otherwise throws Error{where}.
  static PortLease exactly(int port, const char* where);

  ~PortLease();
  PortLease(PortLease&& other) noexcept;
  PortLease(const PortLease&) = delete;
  PortLease& operator=(const PortLease&) = delete;
  PortLease& operator=(PortLease&&) = delete;

  int port() const { return port_; }

 private:
  PortLease(int port, int fd) : port_(port), fd_(fd) {}
  int port_;
  int fd_;
};

}  // namespace tp
