#pragma once

#include <cstdint>

#include "runtime/engine.h"

namespace tp {

// Throws Error for an id beyond the vocabulary, positions that do not fit the cache, or a slot that does not exist.
void check_batch(const Batch& batch, int64_t vocab_size, int64_t slots, int64_t cache_len);

}  // namespace tp
