#pragma once

#include <atomic>

namespace tp {

// From now on SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 end this process only by being noted: the number of the last one, 0
// before the first.
const std::atomic<int>& catch_stop_signals();

}  // namespace tp
