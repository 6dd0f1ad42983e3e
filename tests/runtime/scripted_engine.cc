#include "tests/runtime/scripted_engine.h"

#include <algorithm>
#include <numeric>

#include "sharding/error.h"

namespace tp {

ScriptedEngine::ScriptedEngine(int64_t slots, int64_t cache_len, int64_t vocab, bool copies)
    : cache_len_(cache_len), vocab_(vocab), cached_(static_cast<size_t>(slots)), copies_(copies) {}

void ScriptedEngine::copy_prefix(int32_t from_slot, int32_t to_slot, int64_t length) {
  const std::vector<int32_t>& from = cached_.at(static_cast<size_t>(from_slot));
  if (length > static_cast<int64_t>(from.size())) throw Error("", "a copy of what is not there");
  cached_.at(static_cast<size_t>(to_slot)) = {from.begin(), from.begin() + length};
}

int32_t ScriptedEngine::next_token(const std::vector<int32_t>& ids, int64_t vocab) {
  const int64_t sum = std::accumulate(ids.begin(), ids.end(), int64_t{0});
  return static_cast<int32_t>((7 * sum + static_cast<int64_t>(ids.size())) % vocab);
}

Logits ScriptedEngine::forward(const Batch& batch, LogitsWanted wanted) {
  calls_.push_back({batch.rows, batch.width});
  const bool all = wanted == LogitsWanted::kAll;
  Logits logits{batch.rows, all ? *std::max_element(batch.length.begin(), batch.length.end()) : 1, vocab_};
  logits.data.assign(static_cast<size_t>(logits.rows * logits.positions * vocab_), 0.0f);
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto r = static_cast<size_t>(row);
    std::vector<int32_t>& ids = cached_.at(static_cast<size_t>(batch.slot[r]));
    // What lies behind the start is of an earlier prompt and is written over.
    if (batch.start[r] > static_cast<int32_t>(ids.size())) throw Error("", "a row does not continue its slot");
    ids.resize(static_cast<size_t>(batch.start[r]));
    positions_ += batch.length[r];
    if (batch.start[r] + batch.length[r] > cache_len_) throw Error("", "a row leaves the cache");
    for (int32_t t = 0; t < batch.length[r]; ++t) {
      ids.push_back(batch.ids[static_cast<size_t>(row * batch.width + t)]);
      if (all) logits.at(row, t)[next_token(ids, vocab_)] = 10.0f;
    }
    if (!all) logits.at(row, 0)[next_token(ids, vocab_)] = 10.0f;
    if (batch.total[r] < static_cast<int32_t>(ids.size())) throw Error("", "the total is less than what came");
    longest_ = std::max(longest_, static_cast<int64_t>(ids.size()));
  }
  return logits;
}

}  // namespace tp
