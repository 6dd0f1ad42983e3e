#pragma once

#include <string>

namespace tp {

// A connection of this process, known by the client's end of it. The HTTP library hands out no socket, and looks at a client
// only when there is something to send.
class ClientSocket {
 public:
  // `address` is numeric. Where this process has no such connection, the client counts as there.
  ClientSocket(const std::string& address, int port);

  // Whether the client has closed it. Holds while the request is being answered: the descriptor is not ours.
  bool closed() const;

 private:
  int descriptor_ = -1;
};

}  // namespace tp
