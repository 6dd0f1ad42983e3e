#include "launcher/plan_tp_size.h"

#include <charconv>
#include <string>
#include <vector>

#include "runtime/aot_topology.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr int64_t kMostChips = 4096;

struct Source {
  std::string option, value;
  int64_t chips = 0;
};

// 0 for what is none.
int64_t whole_number(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? number : 0;
}

std::vector<Source> given_sources(const Options& options) {
  std::vector<Source> sources;
  if (const auto tp = options.count("tp")) sources.push_back({"--tp", std::to_string(*tp), *tp});
  const std::string nproc = options.text("nproc-per-node");
  if (options.given("nproc-per-node") && nproc != "auto") sources.push_back({"--nproc-per-node", nproc, whole_number(nproc)});
  if (options.given("topology")) {
    const AotTopology& topology = aot_topology(options.text("topology"));
    sources.push_back({"--topology", topology.name + " (" + std::to_string(topology.devices) + ")", topology.devices});
  }
  return sources;
}

}  // namespace

int plan_tp_size(const Options& options) {
  const std::vector<Source> sources = given_sources(options);
  if (sources.empty()) return 1;
  for (const Source& source : sources) {
    if (source.chips < 1 || source.chips > kMostChips) {
      throw Error(source.option, "`" + source.value + "` is not a number of chips",
                  "a whole number from 1 to " + std::to_string(kMostChips));
    }
    if (source.chips != sources[0].chips) {
      throw Error(sources[0].option, sources[0].value + " and " + source.option + " " + source.value + " disagree",
                  "leave one of them out");
    }
  }
  return static_cast<int>(sources[0].chips);
}

}  // namespace tp
