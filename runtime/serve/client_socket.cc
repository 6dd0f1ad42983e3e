#include "runtime/serve/client_socket.h"

#include <sys/socket.h>

#include <cerrno>

#include "runtime/serve/connections.h"

namespace tp {

ClientSocket::ClientSocket(const std::string& address, int port) {
  const SocketEnd client{address, port};
  for_each_connection([&](int descriptor, const SocketEnd&, const SocketEnd& other) {
    if (other == client) descriptor_ = descriptor;
  });
}

bool ClientSocket::closed() const {
  if (descriptor_ < 0) return false;
  char byte = 0;
  const ssize_t size = recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return size == 0 || (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace tp
