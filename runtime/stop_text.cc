#include "runtime/stop_text.h"

#include <algorithm>
#include <utility>

namespace tp {

// How much of the end of the text is the beginning of a stop text.
size_t StopText::held_back() const {
  size_t longest = 0;
  for (const std::string& stop : stops_) {
    for (size_t size = std::min(held_.size(), stop.size() - 1); size > longest; --size) {
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, size))) longest = size;
    }
  }
  return longest;
}

std::string StopText::push(std::string_view piece) {
  if (found_) return "";
  held_ += piece;
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
  found_ = first != std::string::npos;
  const size_t out = found_ ? first : held_.size() - held_back();
  std::string text = held_.substr(0, out);
  held_.erase(0, out);
  return text;
}

std::string StopText::finish() {
  return found_ ? "" : std::exchange(held_, "");
}

}  // namespace tp
