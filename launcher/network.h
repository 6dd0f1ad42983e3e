#pragma once

#include <string>
#include <vector>

namespace tp {

// An IPv4 network that this host is on.
struct Network {
  std::string interface;  // "eth0"
  std::string address;    // "10.0.0.5"
  std::string subnet;     // "10.0.0.0/24"
};

// Networks to reach other hosts by: those of `chosen` (an interface or a subnet), else all that are up but loopback and the
// bridges of containers and virtual machines, which have the same address on every host. Throws Error when there is none.
std::vector<Network> networks_between_hosts(const std::string& chosen);

// False when `address` is an IPv4 address outside of all of them. Of a name nothing is known.
bool may_lead_to(const std::vector<Network>& networks, const std::string& address);

}  // namespace tp
