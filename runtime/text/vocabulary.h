#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

// Ids beyond this are a mistake in the file, not a vocabulary.
inline constexpr int64_t kLargestTokenId = (int64_t{1} << 24) - 1;

// Tokens and their ids. Ids may have gaps; no two tokens share one. An open-addressing hash table: vocabularies have hundred
// thousands of tokens, and loading one should not be felt.
class Vocabulary {
 public:
  // Neither `token` nor `id`, 0..kLargestTokenId, is in the vocabulary yet.
  void add(std::string token, int32_t id);

  int32_t id(std::string_view token) const {
    const Slot& slot = slots_[slot_of(token, hash_of(token))];
    return slot.entry < 0 ? -1 : entries_[slot.entry].id;
  }
  const std::string* token(int32_t id) const {
    return id < 0 || id > largest_id() || by_id_[id] < 0 ? nullptr : &entries_[by_id_[id]].token;
  }
  int32_t size() const { return static_cast<int32_t>(entries_.size()); }
  int32_t largest_id() const { return static_cast<int32_t>(by_id_.size()) - 1; }

 private:
  struct Entry {
    std::string token;
    int32_t id;
  };
  struct Slot {
    uint32_t hash = 0;
    int32_t entry = -1;
  };
  static uint32_t hash_of(std::string_view token) { return static_cast<uint32_t>(std::hash<std::string_view>()(token)); }
  // Where `token` is, or the empty slot where it belongs.
  size_t slot_of(std::string_view token, uint32_t hash) const;
  void grow();

  std::vector<Entry> entries_;                       // in the order they came
  std::vector<int32_t> by_id_;                       // entries, -1 = a gap
  std::vector<Slot> slots_ = std::vector<Slot>(16);  // a power of two, at least twice as many as entries
};

}  // namespace tp
