#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tp {

// Text that comes in pieces and ends where one of some stop texts begins, which may start in one piece and end in another.
class StopText {
 public:
  explicit StopText(const std::vector<std::string>& stops) : stops_(stops) {}

  // Gives out what cannot be part of a stop text any more; after one was found, nothing.
  std::string push(std::string_view piece);
  // The end came without a stop text: what was held back.
  std::string finish();
  bool found() const { return found_; }

 private:
  size_t held_back() const;

  std::vector<std::string> stops_;
  std::string held_;
  bool found_ = false;
};

}  // namespace tp
