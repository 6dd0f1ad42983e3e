#include "tests/fake_slice/slice_mesh.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

#include "tests/fake_slice/slice_error.h"

namespace tp::fake_slice {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

[[noreturn]] void fail_os(const std::string& what) {
  throw SliceError(PJRT_Error_Code_INTERNAL, what + ": " + std::strerror(errno));
}

int remaining_ms(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

// Address of one rank's socket. A leading zero byte puts it into the abstract namespace.
std::pair<sockaddr_un, socklen_t> address_of(const std::string& job, int rank) {
  const std::string name = "tprun-fake-slice/" + std::to_string(getuid()) + "/" +
                           std::to_string(std::hash<std::string>{}(job)) + "/" + std::to_string(rank);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

int new_socket() {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) fail_os("socket");
  return fd;
}

// Another process of this rank may still be going down: wait for its name.
int listen_as(const std::string& job, int rank, Clock::time_point deadline) {
  const int fd = new_socket();
  const auto [address, size] = address_of(job, rank);
  while (bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    if (errno != EADDRINUSE) fail_os("bind");
    if (Clock::now() > deadline) {
      close(fd);
      throw SliceError(PJRT_Error_Code_ALREADY_EXISTS,
                       "another process is rank " + std::to_string(rank) + " of this job (same TPU_PROCESS_ADDRESSES)");
    }
    std::this_thread::sleep_for(5ms);
  }
  if (listen(fd, SOMAXCONN) != 0) fail_os("listen");
  return fd;
}

std::optional<int> try_connect(const std::string& job, int rank) {
  const int fd = new_socket();
  const auto [address, size] = address_of(job, rank);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return fd;
  const int error = errno;
  close(fd);
  if (error == ECONNREFUSED || error == EAGAIN) return std::nullopt;
  errno = error;
  fail_os("connect");
}

// One rank's half of an exchange: a length, then so many bytes, both ways.
struct Transfer {
  std::string out;
  size_t sent = 0;
  std::string in;
  size_t received = 0;
  uint64_t in_size = 0;
  bool gone = false;

  bool sending() const { return sent < out.size(); }
  bool receiving() const { return received < sizeof(in_size) + in_size; }
  bool busy() const { return !gone && (sending() || receiving()); }
};

void send_some(int fd, Transfer& transfer) {
  const ssize_t n = send(fd, transfer.out.data() + transfer.sent, transfer.out.size() - transfer.sent, MSG_NOSIGNAL);
  if (n >= 0) {
    transfer.sent += static_cast<size_t>(n);
  } else if (errno != EAGAIN && errno != EINTR) {
    transfer.gone = true;
  }
}

void receive_some(int fd, Transfer& transfer) {
  char* to = reinterpret_cast<char*>(&transfer.in_size) + transfer.received;
  size_t room = sizeof(transfer.in_size) - std::min(transfer.received, sizeof(transfer.in_size));
  if (room == 0) {
    to = transfer.in.data() + (transfer.received - sizeof(transfer.in_size));
    room = sizeof(transfer.in_size) + transfer.in_size - transfer.received;
  }
  const ssize_t n = recv(fd, to, room, 0);
  if (n > 0) {
    transfer.received += static_cast<size_t>(n);
    if (transfer.received == sizeof(transfer.in_size)) transfer.in.resize(transfer.in_size);
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    transfer.gone = true;
  }
}

}  // namespace

SliceMesh::SliceMesh(int rank, int world_size, const std::string& job, std::chrono::milliseconds timeout)
    : rank_(rank), world_size_(world_size), job_(job), timeout_(timeout), peers_(static_cast<size_t>(world_size), -1) {
  if (world_size == 1) return;
  const auto deadline = Clock::now() + timeout;
  const int listener = listen_as(job, rank, deadline);
  try {
    meet(listener, deadline);
  } catch (...) {
    close(listener);
    throw;
  }
  close(listener);
}

// Connects to lower ranks and accepts higher ones, which say who they are.
void SliceMesh::meet(int listener, Clock::time_point deadline) {
  const auto missing = [&] {
    std::vector<int> ranks;
    for (int r = 0; r < world_size_; ++r) {
      if (r != rank_ && peers_[static_cast<size_t>(r)] < 0) ranks.push_back(r);
    }
    return ranks;
  };
  while (!missing().empty()) {
    for (int r = 0; r < rank_; ++r) {
      int& peer = peers_[static_cast<size_t>(r)];
      if (peer >= 0) continue;
      const auto fd = try_connect(job_, r);
      if (!fd) continue;
      peer = *fd;
      const int32_t me = rank_;
      if (send(peer, &me, sizeof(me), MSG_NOSIGNAL) != sizeof(me)) fail_os("send");
    }
    pollfd waiting{.fd = listener, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, 5) > 0) {
      const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) continue;
      pollfd hello{.fd = fd, .events = POLLIN, .revents = 0};
      int32_t who = -1;
      if (poll(&hello, 1, remaining_ms(deadline)) == 1 && recv(fd, &who, sizeof(who), 0) == sizeof(who) && who > rank_ &&
          who < world_size_) {
        peers_[static_cast<size_t>(who)] = fd;
      } else {
        close(fd);
      }
    }
    if (Clock::now() > deadline && !missing().empty()) {
      throw SliceError(PJRT_Error_Code_DEADLINE_EXCEEDED, ranks_text(missing()) + " did not join the slice within " +
                                                              std::to_string(timeout_.count() / 1000) + " s");
    }
  }
}

SliceMesh::~SliceMesh() {
  for (int fd : peers_) {
    if (fd >= 0) close(fd);
  }
}

std::map<int, std::string> SliceMesh::exchange(const std::map<int, std::string>& messages, const std::string& what) {
  const auto deadline = Clock::now() + timeout_;
  std::map<int, Transfer> transfers;
  for (const auto& [peer, message] : messages) {
    const uint64_t size = message.size();
    transfers[peer].out = std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + message;
  }
  while (true) {
    std::vector<pollfd> waiting;
    std::vector<int> busy, gone;
    for (const auto& [peer, transfer] : transfers) {
      if (transfer.gone) gone.push_back(peer);
      if (!transfer.busy()) continue;
      const int events = (transfer.sending() ? POLLOUT : 0) | (transfer.receiving() ? POLLIN : 0);
      waiting.push_back({.fd = peers_[static_cast<size_t>(peer)], .events = static_cast<short>(events), .revents = 0});
      busy.push_back(peer);
    }
    if (!gone.empty()) throw SliceError(PJRT_Error_Code_ABORTED, ranks_text(gone) + " left the job: " + what);
    if (busy.empty()) break;
    if (poll(waiting.data(), waiting.size(), remaining_ms(deadline)) == 0) {
      throw SliceError(PJRT_Error_Code_DEADLINE_EXCEEDED, ranks_text(busy) + " did not come to " + what + " within " +
                                                              std::to_string(timeout_.count() / 1000) + " s");
    }
    for (size_t i = 0; i < busy.size(); ++i) {
      Transfer& transfer = transfers[busy[i]];
      if (transfer.sending() && (waiting[i].revents & (POLLOUT | POLLERR | POLLHUP))) send_some(waiting[i].fd, transfer);
      if (transfer.receiving() && (waiting[i].revents & (POLLIN | POLLERR | POLLHUP))) receive_some(waiting[i].fd, transfer);
    }
  }
  std::map<int, std::string> received;
  for (auto& [peer, transfer] : transfers) received[peer] = std::move(transfer.in);
  return received;
}

}  // namespace tp::fake_slice
