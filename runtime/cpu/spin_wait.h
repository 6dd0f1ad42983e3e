#pragma once

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

// Waits for `ready()` on this core for as long as `spin_for` lasts and returns what it said last; the caller then sleeps on a
// futex. It never yields: on a machine that has other work a yield costs a whole round of the run queue, while a sleeper that
// is woken comes back at once. A short spin is also what keeps ranks that oversubscribe the cores from starving each other.
template <class Ready>
bool spin(Ready&& ready, std::chrono::microseconds spin_for) {
  const auto end = std::chrono::steady_clock::now() + spin_for;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      cpu_relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

}  // namespace tp::cpu
