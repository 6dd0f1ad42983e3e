#include "launcher/control.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr size_t kHeaderBytes = 5;
constexpr size_t kReadBytes = size_t{64} << 10;

struct FieldWriter {
  std::string payload;
  FieldWriter& add(const std::string& field) {
    payload.append(field).push_back('\0');
    return *this;
  }
  template <typename Number>
  FieldWriter& add(Number number) {
    return add(std::to_string(number));
  }
};

class FieldReader {
 public:
  explicit FieldReader(const std::string& payload) : payload_(payload) {}
  FieldReader& read(std::string& field) {
    const size_t end = payload_.find('\0', at_);
    if (end == std::string::npos) throw Error("control message", "cut short");
    field = payload_.substr(at_, end - at_);
    at_ = end + 1;
    return *this;
  }
  template <typename Number>
  FieldReader& read(Number& number) {
    std::string field;
    read(field);
    std::istringstream stream(field);
    if (!(stream >> number)) throw Error("control message", "not a number: " + field);
    return *this;
  }

 private:
  const std::string& payload_;
  size_t at_ = 0;
};

sockaddr_un abstract_address(const std::string& name, socklen_t* length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof(address.sun_path)) throw Error("control address", "too long: " + name);
  // A first byte of zero makes the name abstract: it lives in the kernel and goes with the last descriptor.
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

constexpr const char* kUnix = "unix:";

struct TcpAddress {
  std::vector<std::string> hosts;
  uint16_t port = 0;
};

TcpAddress tcp_address(const std::string& address) {
  TcpAddress result;
  const size_t colon = address.rfind(':');
  if (!address.starts_with("tcp:") || colon < 4) throw Error("control address", "not understood: " + address);
  std::istringstream hosts(address.substr(4, colon - 4));
  for (std::string host; std::getline(hosts, host, ',');) result.hosts.push_back(host);
  result.port = static_cast<uint16_t>(std::atoi(address.c_str() + colon + 1));
  return result;
}

sockaddr_in socket_address(const std::string& host, uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &to.sin_addr) != 1) throw Error("control address", "not an address: " + host);
  return to;
}

// The kernel tells of a host that is gone after about half a minute.
void keep_alive(int fd) {
  const int yes = 1, idle_s = 10, interval_s = 5, probes = 4;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

void set_nonblocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

std::string to_payload(const RankHello& h) {
  FieldWriter out;
  out.add(h.rank).add(h.local_rank).add(h.world_size).add(h.local_size).add(h.pid).add(h.host).add(h.token);
  return out.payload;
}

RankHello hello_from_payload(const std::string& payload) {
  FieldReader in(payload);
  RankHello h;
  in.read(h.rank).read(h.local_rank).read(h.world_size).read(h.local_size).read(h.pid).read(h.host).read(h.token);
  return h;
}

std::string to_payload(const RankStart& s) {
  FieldWriter out;
  out.add(s.threads).add(s.argv.size());
  for (const std::string& argument : s.argv) out.add(argument);
  out.add(s.env.size());
  for (const auto& [name, value] : s.env) out.add(name).add(value);
  out.add(s.unset.size());
  for (const std::string& name : s.unset) out.add(name);
  return out.payload;
}

RankStart start_from_payload(const std::string& payload) {
  FieldReader in(payload);
  RankStart s;
  size_t count = 0;
  in.read(s.threads).read(count);
  for (size_t i = 0; i < count; ++i) in.read(s.argv.emplace_back());
  in.read(count);
  for (size_t i = 0; i < count; ++i) {
    std::string name, value;
    in.read(name).read(value);
    s.env[name] = value;
  }
  in.read(count);
  for (size_t i = 0; i < count; ++i) in.read(s.unset.emplace_back());
  return s;
}

std::string to_payload(const RankExit& e) {
  FieldWriter out;
  out.add(e.code).add(e.signal).add(int{e.told}).add(e.time_ns);
  return out.payload;
}

RankExit exit_from_payload(const std::string& payload) {
  FieldReader in(payload);
  RankExit e;
  int told = 0;
  in.read(e.code).read(e.signal).read(told).read(e.time_ns);
  e.told = told != 0;
  return e;
}

FrameStream::FrameStream(int fd) : fd_(fd) {
  set_nonblocking(fd_);
}

FrameStream::~FrameStream() {
  if (fd_ >= 0) close(fd_);
}

FrameStream::FrameStream(FrameStream&& other) noexcept
    : fd_(other.fd_),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      out_done_(other.out_done_),
      closed_(other.closed_) {
  other.fd_ = -1;
}

void FrameStream::send(FrameKind kind, std::string_view payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  char header[kHeaderBytes];
  header[0] = static_cast<char>(kind);
  std::memcpy(header + 1, &size, sizeof(size));
  out_.append(header, kHeaderBytes).append(payload);
  flush();
}

void FrameStream::flush() {
  while (!closed_ && out_done_ < out_.size()) {
    const ssize_t n = ::send(fd_, out_.data() + out_done_, out_.size() - out_done_, MSG_NOSIGNAL);
    if (n > 0) {
      out_done_ += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      // What the peer sent before it went may still be waiting to be read, so receive() alone decides on closed_.
      out_done_ = out_.size();
    }
  }
  if (out_done_ == out_.size()) {
    out_.clear();
    out_done_ = 0;
  }
}

std::vector<Frame> FrameStream::receive() {
  char buffer[kReadBytes];
  const ssize_t n = recv(fd_, buffer, sizeof(buffer), 0);
  if (n > 0) {
    in_.append(buffer, static_cast<size_t>(n));
  } else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
    closed_ = true;
  }
  std::vector<Frame> frames;
  size_t at = 0;
  while (in_.size() - at >= kHeaderBytes) {
    uint32_t size = 0;
    std::memcpy(&size, in_.data() + at + 1, sizeof(size));
    if (in_.size() - at - kHeaderBytes < size) break;
    frames.push_back({static_cast<FrameKind>(in_[at]), in_.substr(at + kHeaderBytes, size)});
    at += kHeaderBytes + size;
  }
  in_.erase(0, at);
  return frames;
}

int listen_control(const std::string& address) {
  const bool local = address.starts_with(kUnix);
  const int fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int bound = -1;
  if (local) {
    socklen_t length = 0;
    const sockaddr_un to = abstract_address(address.substr(std::strlen(kUnix)), &length);
    bound = bind(fd, reinterpret_cast<const sockaddr*>(&to), length);
  } else {
    const int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    const sockaddr_in to = socket_address("0.0.0.0", tcp_address(address).port);
    bound = bind(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  }
  if (fd < 0 || bound != 0 || listen(fd, SOMAXCONN) != 0) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) close(fd);
    throw Error("control socket", why);
  }
  return fd;
}

int connect_control(const std::string& address, double timeout_s) {
  const timeval bound{static_cast<time_t>(timeout_s), 0};  // also of a full backlog, which blocks connect()
  std::string tried;
  const auto attempt = [&](int family, const sockaddr* to, socklen_t length, const std::string& name) {
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound));
    if (fd >= 0 && connect(fd, to, length) == 0) return fd;
    tried += (tried.empty() ? "" : ", ") + name + " (" + std::strerror(errno) + ")";
    if (fd >= 0) close(fd);
    return -1;
  };
  if (address.starts_with(kUnix)) {
    socklen_t length = 0;
    const sockaddr_un to = abstract_address(address.substr(std::strlen(kUnix)), &length);
    if (const int fd = attempt(AF_UNIX, reinterpret_cast<const sockaddr*>(&to), length, address); fd >= 0) return fd;
  } else {
    const TcpAddress tcp = tcp_address(address);
    for (const std::string& host : tcp.hosts) {
      const sockaddr_in to = socket_address(host, tcp.port);
      const int fd =
          attempt(AF_INET, reinterpret_cast<const sockaddr*>(&to), sizeof(to), host + ":" + std::to_string(tcp.port));
      if (fd < 0) continue;
      keep_alive(fd);
      return fd;
    }
  }
  throw Error("control socket", "tprun cannot be reached; tried " + tried,
              "--interface NAME|SUBNET that leads from host to host");
}

}  // namespace tp
