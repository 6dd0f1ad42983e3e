#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engine.h"

namespace tp {

// An engine whose likeliest next token is a function of the whole sequence in the slot, so that a wrong slot, start, length or
// padding shows in what is generated. Its other logits are 0, the likeliest is 10. It keeps the shapes of all calls.
class ScriptedEngine : public Engine {
 public:
  struct Call {
    int64_t rows, width;
    bool operator==(const Call&) const = default;
  };

  ScriptedEngine(int64_t slots, int64_t cache_len, int64_t vocab, bool copies = false);

  // What follows `ids`: (7 * sum of ids + their number) mod vocab.
  static int32_t next_token(const std::vector<int32_t>& ids, int64_t vocab);

  // Throws Error for a row that does not continue its slot or leaves the cache.
  Logits forward(const Batch& batch, LogitsWanted wanted) override;
  int64_t cache_len() const override { return cache_len_; }
  int64_t slots() const override { return static_cast<int64_t>(cached_.size()); }
  int64_t cache_bytes() const override { return slots() * cache_len_ * 8; }
  bool copies_prefixes() const override { return copies_; }
  void copy_prefix(int32_t from_slot, int32_t to_slot, int64_t length) override;
  int64_t programs_compiled() const override { return 3; }
  int64_t program_cache_hits() const override { return 1; }

  const std::vector<Call>& calls() const { return calls_; }
  int64_t longest() const { return longest_; }      // positions of the cache that were used at most
  int64_t positions() const { return positions_; }  // that were run, padding not counted

 private:
  int64_t cache_len_, vocab_;
  std::vector<std::vector<int32_t>> cached_;  // by slot
  std::vector<Call> calls_;
  int64_t longest_ = 0, positions_ = 0;
  bool copies_;
};

}  // namespace tp
