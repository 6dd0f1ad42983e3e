#pragma once

#include <atomic>

namespace tp {

// From now on SIGTERM and SIGINT end this process only by being noted: the number of the last one, 0 before the first.
const std::atomic<int>& catch_stop_signals();

}  // namespace tp
