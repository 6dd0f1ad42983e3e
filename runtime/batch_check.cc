#include "runtime/batch_check.h"

#include <string>

#include "sharding/error.h"

namespace tp {

void check_batch(const Batch& batch, int64_t vocab_size, int64_t slots, int64_t cache_len) {
  for (int32_t id : batch.ids)
    if (id < 0 || id >= vocab_size)
      throw Error("", "token id " + std::to_string(id) + " is beyond the vocabulary of " + std::to_string(vocab_size));
  for (size_t row = 0; row < static_cast<size_t>(batch.rows); ++row) {
    if (batch.start[row] < 0 || batch.length[row] < 1 || batch.length[row] > batch.width ||
        batch.start[row] + batch.length[row] > cache_len)
      throw Error("", "positions " + std::to_string(batch.start[row]) + " to " +
                          std::to_string(batch.start[row] + batch.length[row]) + " do not fit a cache of " +
                          std::to_string(cache_len));
    if (batch.slot[row] < 0 || batch.slot[row] >= slots) throw Error("", "no cache slot " + std::to_string(batch.slot[row]));
  }
}

}  // namespace tp
