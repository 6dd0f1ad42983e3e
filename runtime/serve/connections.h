#pragma once

#include <functional>
#include <string>

namespace tp {

// One end of a connection over TCP.
struct SocketEnd {
  std::string address;  // numeric
  int port = 0;

  auto operator<=>(const SocketEnd&) const = default;
};

// Calls found(descriptor, our end, the other's end) for each TCP connection that this process has at the moment. The descriptor
// is someone else's and may be closed at any time.
void for_each_connection(const std::function<void(int descriptor, const SocketEnd& own, const SocketEnd& other)>& found);

// Ends the connection behind `descriptor` for whoever reads or writes it, if it still leads to `other`.
void end_connection(int descriptor, const SocketEnd& other);

}  // namespace tp
