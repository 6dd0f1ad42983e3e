#include "launcher/host_list.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <regex>
#include <sstream>

#include "launcher/preset_values.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr int kMostSlots = 4096;

int slots_of(const std::string& text, const std::string& where) {
  int slots = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), slots);
  if (error != std::errc() || rest != text.data() + text.size() || slots < 1 || slots > kMostSlots) {
    throw Error(where, "`" + text + "` is not a number of ranks", "1 to " + std::to_string(kMostSlots));
  }
  return slots;
}

void add_host(std::vector<HostSlots>& hosts, HostSlots host, const std::string& where, const std::string& form) {
  // What begins with a dash would be an option of ssh; mpirun is given all hosts in one word, NAME:N,NAME:N.
  if (!is_host(host.name) || host.name.find(':') != std::string::npos)
    throw Error(where, "`" + host.name + "` is not a host", form);
  const bool twice = std::any_of(hosts.begin(), hosts.end(), [&](const HostSlots& h) { return h.name == host.name; });
  if (twice) throw Error(where, host.name + " is there twice", "NAME:N gives a host N ranks");
  hosts.push_back(std::move(host));
}

bool is_any_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::vector<HostSlots> parse_host_option(const std::string& text) {
  std::vector<HostSlots> hosts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const size_t colon = part.rfind(':');
    HostSlots host{part.substr(0, colon), 0};
    if (colon != std::string::npos) host.slots = slots_of(part.substr(colon + 1), "--host");
    add_host(hosts, std::move(host), "--host", "NAME or NAME:N");
    at = end + 1;
  }
  return hosts;
}

std::vector<HostSlots> parse_hostfile(const std::string& text, const std::string& path) {
  std::vector<HostSlots> hosts;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    static const std::regex spaced(R"(\s*=\s*)");
    std::istringstream words(std::regex_replace(line.substr(0, line.find('#')), spaced, "="));
    const std::string where = path + ":" + std::to_string(number);
    HostSlots host;
    if (!(words >> host.name)) continue;
    for (std::string word; words >> word;) {
      const std::string key = word.substr(0, word.find('='));
      if (key == word || !is_any_of(key, {"slots", "cpus", "cpu", "count", "max_slots", "max-slots", "slots_max", "slots-max"}))
        throw Error(where, "`" + word + "` is not understood", "NAME slots=N");
      const int slots = slots_of(word.substr(key.size() + 1), where);
      if (key.find("max") == std::string::npos) host.slots = slots;
    }
    add_host(hosts, std::move(host), where, "NAME slots=N");
  }
  if (hosts.empty()) throw Error(path, "names no host", "one host a line: NAME slots=N");
  return hosts;
}

void settle_slots(std::vector<HostSlots>& hosts, int nproc_per_node) {
  for (HostSlots& host : hosts) {
    if (nproc_per_node > 0 && host.slots > 0 && host.slots != nproc_per_node) {
      throw Error("--nproc-per-node",
                  std::to_string(nproc_per_node) + ", but " + host.name + " is listed with " + std::to_string(host.slots),
                  "leave one of them out");
    }
    if (host.slots == 0) host.slots = std::max(1, nproc_per_node);
  }
}

}  // namespace tp
