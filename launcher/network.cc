#include "launcher/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdlib>

#include "sharding/error.h"

namespace tp {
namespace {

bool is_private_bridge(const std::string& name) {
  for (const char* prefix : {"docker", "virbr", "br-", "cni", "podman", "lxcbr", "lxdbr", "flannel", "cali"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

std::string address_text(in_addr_t address) {
  char text[INET_ADDRSTRLEN] = "";
  const in_addr value{address};
  inet_ntop(AF_INET, &value, text, sizeof(text));
  return text;
}

struct Found {
  Network network;
  bool loopback;
};

std::vector<Found> all_networks() {
  std::vector<Found> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET || (entry->ifa_flags & IFF_UP) == 0) continue;
    const in_addr_t address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr.s_addr;
    const in_addr_t mask = reinterpret_cast<const sockaddr_in*>(entry->ifa_netmask)->sin_addr.s_addr;
    const std::string subnet = address_text(address & mask) + "/" + std::to_string(__builtin_popcount(mask));
    found.push_back({{entry->ifa_name, address_text(address), subnet}, (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  freeifaddrs(list);
  return found;
}

}  // namespace

std::vector<Network> networks_between_hosts(const std::string& chosen) {
  std::vector<Network> networks;
  std::string names;
  for (const Found& found : all_networks()) {
    const Network& network = found.network;
    names += (names.empty() ? "" : ", ") + network.interface + " " + network.subnet;
    const bool usable = chosen.empty() ? !found.loopback && !is_private_bridge(network.interface)
                                       : chosen == network.interface || chosen == network.subnet;
    if (usable) networks.push_back(network);
  }
  if (networks.empty()) {
    throw Error("--interface", chosen.empty() ? "no network leads to other hosts" : chosen + " is not a network of this host",
                "one of " + (names.empty() ? "none" : names));
  }
  return networks;
}

bool may_lead_to(const std::vector<Network>& networks, const std::string& address) {
  in_addr wanted{};
  if (inet_pton(AF_INET, address.c_str(), &wanted) != 1) return true;
  return std::any_of(networks.begin(), networks.end(), [&](const Network& network) {
    const size_t slash = network.subnet.find('/');
    in_addr base{};
    inet_pton(AF_INET, network.subnet.substr(0, slash).c_str(), &base);
    const int bits = std::atoi(network.subnet.c_str() + slash + 1);
    const uint32_t mask = bits == 0 ? 0 : ~uint32_t{0} << (32 - bits);
    return ((ntohl(wanted.s_addr) ^ ntohl(base.s_addr)) & mask) == 0;
  });
}

}  // namespace tp
