#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tp {

// What two neighbouring tokens merge into. A lower rank goes first.
struct Merge {
  int32_t rank;
  int32_t id;
};

// Merges by pair of ids: an open-addressing hash table, since a 1 MB text asks it millions of times.
class MergeTable {
 public:
  explicit MergeTable(size_t count);
  // A later merge of the same pair replaces the earlier one.
  void insert(int32_t left, int32_t right, Merge merge);
  const Merge* find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t slot = slot_of(key);; slot = (slot + 1) & mask_) {
      if (slots_[slot].key == key) return &slots_[slot].merge;
      if (slots_[slot].key == kEmpty) return nullptr;
    }
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge = {};
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const { return (key * 0x9e3779b97f4a7c15ULL) >> shift_; }

  std::vector<Slot> slots_;
  size_t mask_;
  int shift_;
};

// Merges the symbols of one word (ids) until no pair has a merge, the lowest rank first, then the leftmost. O(n log n).
// `ids` is changed in place.
void merge_word(std::vector<int32_t>& ids, const MergeTable& merges);

}  // namespace tp
