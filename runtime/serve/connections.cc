#include "runtime/serve/connections.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

namespace tp {
namespace {

using NameOf = int (*)(int, sockaddr*, socklen_t*);

// The end that getsockname or getpeername tells; nothing for what is no connection over TCP.
std::optional<SocketEnd> end_of(int descriptor, NameOf name_of) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (name_of(descriptor, reinterpret_cast<sockaddr*>(&name), &size) != 0) return std::nullopt;
  if (name.ss_family != AF_INET && name.ss_family != AF_INET6) return std::nullopt;
  char host[NI_MAXHOST], service[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&name), size, host, sizeof host, service, sizeof service,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return std::nullopt;
  return SocketEnd{host, std::stoi(service)};
}

}  // namespace

void for_each_connection(const std::function<void(int descriptor, const SocketEnd& own, const SocketEnd& other)>& found) {
  std::error_code error;
  std::filesystem::directory_iterator open("/proc/self/fd", error), end;
  for (; !error && open != end; open.increment(error)) {
    const int descriptor = std::stoi(open->path().filename());
    const auto other = end_of(descriptor, getpeername);
    if (!other) continue;
    if (const auto own = end_of(descriptor, getsockname)) found(descriptor, *own, *other);
  }
}

void end_connection(int descriptor, const SocketEnd& other) {
  // The number may stand for another connection by now, but not that of a copy that is looked at first.
  const int copy = dup(descriptor);
  if (copy < 0) return;
  if (end_of(copy, getpeername) == other) shutdown(copy, SHUT_RDWR);
  close(copy);
}

}  // namespace tp
