#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/text/json_node.h"

namespace tp {

// Ids beyond this are a mistake in the file, not a vocabulary.
inline constexpr int64_t kLargestTokenId = (int64_t{1} << 24) - 1;

// Tokens and their ids. Ids may have gaps; no two tokens share one.
class Vocabulary {
 public:
  Vocabulary() = default;
  // {"token": id, …}
  explicit Vocabulary(const JsonNode& node);
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  int32_t id(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? -1 : found->second;
  }
  const std::string* token(int32_t id) const {
    return id < 0 || id >= static_cast<int32_t>(tokens_.size()) || !known_[id] ? nullptr : &tokens_[id];
  }
  int32_t size() const { return static_cast<int32_t>(ids_.size()); }
  int32_t largest_id() const { return static_cast<int32_t>(tokens_.size()) - 1; }

 private:
  std::vector<std::string> tokens_;  // by id
  std::vector<bool> known_;
  std::unordered_map<std::string_view, int32_t> ids_;  // of views into tokens_
};

}  // namespace tp
