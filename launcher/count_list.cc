#include "launcher/count_list.h"

#include <charconv>

#include "sharding/error.h"

namespace tp {

std::vector<int64_t> count_list(const Options& options, const std::string& name) {
  const std::string text = options.text(name);
  std::vector<int64_t> counts;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int64_t count = 0;
    const auto [rest, error] = std::from_chars(at, end, count);
    const bool more = rest != end && *rest == ',' && rest + 1 != end;
    if (error != std::errc() || count < 1 || (rest != end && !more))
      throw Error("--" + name, "`" + text + "` is not a list of whole numbers", "--" + name + " 128,512");
    counts.push_back(count);
    at = more ? rest + 1 : rest;
  }
  return counts;
}

}  // namespace tp
