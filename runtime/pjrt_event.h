#pragma once

#include <chrono>

#include "runtime/pjrt_plugin.h"

struct PJRT_Event;

namespace tp {

// Waits until `event` is ready and destroys it; null is ready. Throws Error if the event carries one, or, naming `what`, when
// `timeout` runs out (the event is then left to the plugin, which still uses it).
void wait_for(const PjrtPlugin& plugin, PJRT_Event* event, std::chrono::milliseconds timeout, const char* what);

}  // namespace tp
