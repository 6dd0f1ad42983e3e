#include "sharding/near_names.h"

#include <algorithm>
#include <utility>

namespace tp {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& candidates) {
  // A typo changes little of a name: one edit for every three letters, at least one. The cost of the table is bounded by
  // passing over names whose length alone is too far off.
  const int limit = std::max<int>(1, static_cast<int>(std::min<size_t>(name.size(), 256)) / 3);
  std::vector<std::pair<int, std::string>> found;
  for (const std::string& candidate : candidates) {
    const auto gap = static_cast<int64_t>(candidate.size()) - static_cast<int64_t>(name.size());
    if (std::abs(gap) > limit) continue;
    const int distance = edit_distance(name, candidate);
    if (distance <= limit) found.emplace_back(distance, candidate);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < found.size() && i < 3; ++i) names.push_back(found[i].second);
  return names;
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "`" : ", `") + name + "`";
  return text;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::vector<std::string> names = near_names(name, candidates);
  if (names.empty()) return "";
  std::string text = "did you mean ";
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += "`" + names[i] + "`";
  }
  return text + "?";
}

}  // namespace tp
