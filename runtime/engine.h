#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/kernel_calls.h"
#include "runtime/largest_logit.h"

namespace tp {

// One call of the forward contract (design.md): B rows of T token ids, right-padded.
struct Batch {
  int64_t rows = 0;             // B
  int64_t width = 0;            // T, the same for all rows
  std::vector<int32_t> ids;     // [B, T], row-major; padding may be any valid id
  std::vector<int32_t> start;   // [B] absolute position of each row's first token = cache index
  std::vector<int32_t> length;  // [B] real tokens of this call in each row, 1..T
  std::vector<int32_t> slot;    // [B] cache slot of each row
  // [B] tokens of the whole sequence, which length-dependent rope scaling sees: start + length, or more when a prompt comes
  // in several calls.
  std::vector<int32_t> total;
};

enum class LogitsWanted { kLast, kAll };

// Float32 logits of a call: [B, 1, vocab] (kLast: the last real position of each row) or [B, positions, vocab], positions =
// the largest length of the call (kAll; those past a row's length are arbitrary).
struct Logits {
  int64_t rows = 0, positions = 0, vocab = 0;
  std::vector<float> data;
  const float* at(int64_t row, int64_t position) const { return data.data() + (row * positions + position) * vocab; }
  float* at(int64_t row, int64_t position) { return data.data() + (row * positions + position) * vocab; }
};

// One rank's model, ready to run: weights loaded, cache allocated. Every rank makes the same calls in the same order. The
// logits are whole on every rank.
class Engine {
 public:
  virtual ~Engine() = default;
  // Throws Error for ids, positions or slots out of range.
  virtual Logits forward(const Batch& batch, LogitsWanted wanted) = 0;
  // The likeliest next token of each row among ids below `allowed_vocab`, ties to the lower id, without the logits of the others
  // having to meet anywhere.
  virtual std::vector<int32_t> likeliest(const Batch& batch, int64_t allowed_vocab) {
    const Logits logits = forward(batch, LogitsWanted::kLast);
    std::vector<int32_t> ids;
    for (int64_t row = 0; row < logits.rows; ++row)
      ids.push_back(require_token(largest_logit(logits.at(row, 0), std::min(allowed_vocab, logits.vocab), 0)));
    return ids;
  }
  virtual int64_t cache_len() const = 0;    // positions a slot holds
  virtual int64_t slots() const = 0;        // rows that can be in flight
  virtual int64_t cache_bytes() const = 0;  // of this rank
  // Copies the keys and values of the first `length` positions of one slot to another, where copies_prefixes().
  virtual bool copies_prefixes() const { return false; }
  virtual void copy_prefix(int32_t /*from_slot*/, int32_t /*to_slot*/, int64_t /*length*/) {}
  virtual int64_t programs_compiled() const { return 0; }
  virtual int64_t program_cache_hits() const { return 0; }
  virtual KernelCalls kernel_calls() const { return {}; }
};

}  // namespace tp
