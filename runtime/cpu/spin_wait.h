#pragma once

#include <sched.h>

#include <chrono>

namespace tp::cpu {

// Tells the core that this is a spinning loop.
inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits for `ready()` without sleeping: about 2 microseconds of spinning, then giving the core away to whoever wants it for as
// long as `yield_for` lasts. Returns what `ready()` said last; the caller then sleeps or gives up. When nobody else wants the
// core yielding is nearly as quick as spinning; when ranks oversubscribe it lets the rank run that everybody waits for.
template <class Ready>
bool spin_then_yield(Ready&& ready, std::chrono::microseconds yield_for) {
  for (int i = 0; i < 64; ++i) {
    if (ready()) return true;
    cpu_relax();
  }
  const auto end = std::chrono::steady_clock::now() + yield_for;
  do {
    for (int i = 0; i < 8; ++i) {
      if (ready()) return true;
      sched_yield();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

}  // namespace tp::cpu
