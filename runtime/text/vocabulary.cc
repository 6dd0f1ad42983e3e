#include "runtime/text/vocabulary.h"

#include <utility>

namespace tp {

void Vocabulary::add(std::string token, int32_t id) {
  if ((entries_.size() + 1) * 2 > slots_.size()) grow();
  const uint32_t hash = hash_of(token);
  const auto entry = static_cast<int32_t>(entries_.size());
  slots_[slot_of(token, hash)] = {hash, entry};
  entries_.push_back({std::move(token), id});
  if (id > largest_id()) by_id_.resize(static_cast<size_t>(id) + 1, -1);
  by_id_[id] = entry;
}

size_t Vocabulary::slot_of(std::string_view token, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].entry >= 0 && (slots_[at].hash != hash || entries_[slots_[at].entry].token != token)) at = (at + 1) & mask;
  return at;
}

void Vocabulary::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.entry < 0) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].entry >= 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace tp
