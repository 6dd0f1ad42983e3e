#pragma once

#include <string_view>
#include <vector>

#include "runtime/text/json_node.h"
#include "runtime/text/regex.h"

namespace tp {

// What becomes of the delimiters when text is split. On "the-final--countdown" with "-":
enum class SplitBehavior {
  kRemoved,             // the final countdown
  kIsolated,            // the - final - - countdown
  kMergedWithPrevious,  // the- final- - countdown
  kMergedWithNext,      // the -final - -countdown
  kContiguous,          // the - final -- countdown
};
SplitBehavior read_split_behavior(const JsonNode& node);

// Cuts text of `size` bytes at `delimiters` (sorted, not overlapping). With `invert` what lies between them delimits.
std::vector<Span> split(size_t size, const std::vector<Span>& delimiters, SplitBehavior behavior, bool invert);

}  // namespace tp
