#pragma once

#include <cstdint>

namespace tp {

// Bytes of this process's resident memory that no file backs (/proc/self/smaps_rollup); 0 where the system does not tell.
int64_t anonymous_bytes();

}  // namespace tp
