#include "runtime/text/split.h"

#include <algorithm>
#include <map>

namespace tp {
namespace {

struct Part {
  Span span;
  bool delimiter;
};

// The whole text as delimiters and what lies between.
std::vector<Part> all_parts(size_t size, const std::vector<Span>& delimiters, bool invert) {
  std::vector<Part> parts;
  size_t at = 0;
  for (const Span& d : delimiters) {
    if (at != d.begin) parts.push_back({{at, d.begin}, invert});
    parts.push_back({d, !invert});
    at = d.end;
  }
  if (at != size) parts.push_back({{at, size}, invert});
  return parts;
}

// Joins each part to the one before it where `joins(is delimiter, previous is delimiter)`.
template <typename Joins>
std::vector<Span> join(const std::vector<Part>& parts, Joins&& joins) {
  std::vector<Span> spans;
  bool previous = false;
  for (const Part& part : parts) {
    if (!spans.empty() && joins(part.delimiter, previous)) {
      spans.back() = {std::min(spans.back().begin, part.span.begin), std::max(spans.back().end, part.span.end)};
    } else {
      spans.push_back(part.span);
    }
    previous = part.delimiter;
  }
  return spans;
}

}  // namespace

SplitBehavior read_split_behavior(const JsonNode& node) {
  static const std::map<std::string, SplitBehavior> kNames = {{"Removed", SplitBehavior::kRemoved},
                                                              {"Isolated", SplitBehavior::kIsolated},
                                                              {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
                                                              {"MergedWithNext", SplitBehavior::kMergedWithNext},
                                                              {"Contiguous", SplitBehavior::kContiguous}};
  const std::string name = node.text();
  const auto found = kNames.find(name);
  if (found == kNames.end()) {
    node.fail("`" + name + "` is no behavior", "use Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
  }
  return found->second;
}

std::vector<Span> split(size_t size, const std::vector<Span>& delimiters, SplitBehavior behavior, bool invert) {
  std::vector<Part> parts = all_parts(size, delimiters, invert);
  const auto separate = [](bool delimiter, bool previous) { return delimiter && !previous; };
  switch (behavior) {
    case SplitBehavior::kRemoved:
      std::erase_if(parts, [](const Part& part) { return part.delimiter; });
      break;
    case SplitBehavior::kIsolated:
      break;
    case SplitBehavior::kContiguous:
      return join(parts, [](bool delimiter, bool previous) { return delimiter == previous; });
    case SplitBehavior::kMergedWithPrevious:
      return join(parts, separate);
    case SplitBehavior::kMergedWithNext: {
      std::reverse(parts.begin(), parts.end());
      std::vector<Span> spans = join(parts, separate);
      std::reverse(spans.begin(), spans.end());
      return spans;
    }
  }
  return join(parts, [](bool, bool) { return false; });
}

}  // namespace tp
