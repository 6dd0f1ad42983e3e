#include "launcher/interrupts.h"

#include <csignal>

namespace tp {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;

void on_interrupt(int) {
  g_interrupted = 1;
}

}  // namespace

void note_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: a read that waits comes back
  sigaction(SIGINT, &action, nullptr);
}

bool take_interrupt() {
  const bool interrupted = g_interrupted != 0;
  g_interrupted = 0;
  return interrupted;
}

}  // namespace tp
