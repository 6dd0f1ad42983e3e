#include "runtime/text/bpe_merges.h"

#include <algorithm>
#include <bit>
#include <queue>

namespace tp {
namespace {

// A place where two symbols could be merged; stale once one of them has changed.
struct Candidate {
  int32_t rank;
  int32_t position;
  int32_t id;
  bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : position > other.position; }
};

struct Links {
  int32_t previous, next;  // -1 = none
};

constexpr int32_t kGone = -1;  // a symbol that was merged into the one before it

}  // namespace

MergeTable::MergeTable(size_t count) {
  const int bits = std::bit_width(std::max<size_t>(count, 8) * 2);
  slots_.resize(size_t{1} << bits);
  mask_ = slots_.size() - 1;
  shift_ = 64 - bits;
}

void MergeTable::insert(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = key_of(left, right);
  size_t slot = slot_of(key);
  while (slots_[slot].key != kEmpty && slots_[slot].key != key) slot = (slot + 1) & mask_;
  slots_[slot] = {key, merge};
}

void merge_word(std::vector<int32_t>& ids, const MergeTable& merges) {
  const auto count = static_cast<int32_t>(ids.size());
  if (count < 2) return;
  std::vector<Candidate> heap;
  heap.reserve(count);
  std::vector<Links> links(count);
  const auto offer = [&](int32_t left, int32_t right, std::vector<Candidate>& to) {
    const Merge* merge = merges.find(ids[left], ids[right]);
    if (merge) to.push_back({merge->rank, left, merge->id});
    return merge != nullptr;
  };
  for (int32_t i = 0; i < count; ++i) {
    links[i] = {i - 1, i + 1 < count ? i + 1 : -1};
    if (i + 1 < count) offer(i, i + 1, heap);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const Candidate top = heap.back();
    heap.pop_back();
    const int32_t left = top.position, right = links[left].next;
    if (ids[left] == kGone || right < 0) continue;
    // What stands there now may be another pair. The reference compares what the pair makes, so do we.
    const Merge* merge = merges.find(ids[left], ids[right]);
    if (!merge || merge->id != top.id) continue;
    ids[left] = top.id;
    ids[right] = kGone;
    links[left].next = links[right].next;
    if (links[right].next >= 0) links[links[right].next].previous = left;
    if (links[left].previous >= 0 && offer(links[left].previous, left, heap)) {
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
    if (links[left].next >= 0 && offer(left, links[left].next, heap))
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }
  std::erase(ids, kGone);
}

}  // namespace tp
