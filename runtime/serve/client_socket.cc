#include "runtime/serve/client_socket.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <filesystem>

namespace tp {
namespace {

bool is_connected_to(int descriptor, const std::string& address, int port) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return false;
  char host[NI_MAXHOST], service[NI_MAXSERV];
  const int failed = getnameinfo(reinterpret_cast<const sockaddr*>(&peer), size, host, sizeof host, service, sizeof service,
                                 NI_NUMERICHOST | NI_NUMERICSERV);
  return failed == 0 && address == host && std::to_string(port) == service;
}

}  // namespace

ClientSocket::ClientSocket(const std::string& address, int port) {
  std::error_code error;
  std::filesystem::directory_iterator open("/proc/self/fd", error), end;
  for (; !error && open != end; open.increment(error)) {
    const int descriptor = std::stoi(open->path().filename());
    if (is_connected_to(descriptor, address, port)) descriptor_ = descriptor;
  }
}

bool ClientSocket::closed() const {
  if (descriptor_ < 0) return false;
  char byte = 0;
  const ssize_t size = recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return size == 0 || (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace tp
