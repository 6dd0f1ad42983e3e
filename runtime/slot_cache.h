#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/engine.h"
#include "sharding/model_config.h"

namespace tp {

// Which cache slot holds what. With `reuse` a prompt starts behind the ids that a slot holds already (the end of an earlier
// prompt leaves them there), and an engine that can copies them from a slot that is in use. The same on every rank.
class SlotCache {
 public:
  SlotCache(Engine& engine, const ModelConfig& config, bool reuse);

  struct Place {
    int32_t slot = 0;
    int64_t cached = 0;  // leading ids of the prompt that are there; always less than all of them
  };

  int64_t free_slots() const { return free_; }
  // A slot for a prompt; nullopt while it is better to wait a step because a prompt that was placed in this step is about to
  // compute the same beginning. At least one slot is free.
  std::optional<Place> place(const std::vector<int32_t>& ids);
  // The engine ran: the slot now holds the first `cached` of `ids`.
  void computed(int32_t slot, const std::vector<int32_t>& ids, int64_t cached);
  void release(int32_t slot);

 private:
  struct Slot {
    std::vector<int32_t> ids;       // whose keys and values are in the cache
    std::vector<int32_t> expected;  // of a prompt that is placed and not computed yet
    bool in_use = false;
    int64_t released_at = 0;
  };

  int64_t shared_with(const std::vector<int32_t>& held, const std::vector<int32_t>& ids) const;
  int32_t best_free(const std::vector<int32_t>& ids) const;

  Engine& engine_;
  const ModelConfig& config_;
  bool reuse_;
  std::vector<Slot> slots_;
  int64_t free_ = 0, releases_ = 0;
};

}  // namespace tp
