#include "runtime/slot_cache.h"

#include <algorithm>

#include "runtime/rope.h"

namespace tp {
namespace {

// Common beginnings that are shorter are computed again: a copy, or a step of waiting, would cost more.
constexpr int64_t kWorthSharing = 16;

}  // namespace

SlotCache::SlotCache(Engine& engine, const ModelConfig& config, bool reuse)
    : engine_(engine), config_(config), reuse_(reuse), slots_(static_cast<size_t>(engine.slots())), free_(engine.slots()) {}

// The last id of a prompt is always run: its logits are what the first new token comes from.
int64_t SlotCache::shared_with(const std::vector<int32_t>& held, const std::vector<int32_t>& ids) const {
  const size_t most = std::min(held.size(), ids.size() - 1);
  const auto end = std::mismatch(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(most), held.begin()).first;
  // Keys that were turned for a longer sequence than is usual for the model are no use to another.
  if (rope_depends_on_length(config_, static_cast<int64_t>(std::max(held.size(), ids.size())))) return 0;
  return end - ids.begin();
}

// The free slot that holds most of the ids, of equal ones the one that has been free for longest.
int32_t SlotCache::best_free(const std::vector<int32_t>& ids) const {
  int32_t best = -1;
  int64_t best_shared = -1;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].in_use) continue;
    const int64_t shared = reuse_ ? shared_with(slots_[i].ids, ids) : 0;
    const bool older = best >= 0 && slots_[i].released_at < slots_[static_cast<size_t>(best)].released_at;
    if (shared < best_shared || (shared == best_shared && !older)) continue;
    best = static_cast<int32_t>(i);
    best_shared = shared;
  }
  return best;
}

std::optional<SlotCache::Place> SlotCache::place(const std::vector<int32_t>& ids) {
  Place place{best_free(ids), 0};
  Slot& slot = slots_[static_cast<size_t>(place.slot)];
  if (reuse_) place.cached = shared_with(slot.ids, ids);
  if (reuse_ && engine_.copies_prefixes()) {
    const auto shared_by = [&](auto member) {
      return [this, &ids, member](const Slot& a, const Slot& b) {
        return shared_with(a.*member, ids) < shared_with(b.*member, ids);
      };
    };
    const auto from = std::max_element(slots_.begin(), slots_.end(), shared_by(&Slot::ids));
    const auto soon = std::max_element(slots_.begin(), slots_.end(), shared_by(&Slot::expected));
    const int64_t held = std::max(place.cached, shared_with(from->ids, ids));
    if (shared_with(soon->expected, ids) >= held + kWorthSharing) return std::nullopt;
    if (held >= place.cached + kWorthSharing) {
      engine_.copy_prefix(static_cast<int32_t>(from - slots_.begin()), place.slot, held);
      place.cached = held;
    }
  }
  slot.ids.assign(ids.begin(), ids.begin() + place.cached);
  slot.expected = ids;
  slot.in_use = true;
  --free_;
  return place;
}

void SlotCache::computed(int32_t index, const std::vector<int32_t>& ids, int64_t cached) {
  Slot& slot = slots_[static_cast<size_t>(index)];
  if (cached >= static_cast<int64_t>(slot.expected.size())) slot.expected.clear();
  // A sequence that was computed again from its start holds the same ids.
  for (auto i = static_cast<int64_t>(slot.ids.size()); i < cached; ++i) slot.ids.push_back(ids[static_cast<size_t>(i)]);
}

void SlotCache::release(int32_t index) {
  Slot& slot = slots_[static_cast<size_t>(index)];
  slot.expected.clear();
  slot.in_use = false;
  slot.released_at = ++releases_;
  ++free_;
}

}  // namespace tp
