#include "runtime/stop_signals.h"

#include <csignal>

namespace tp {
namespace {

std::atomic<int> g_stop_signal{0};

void on_stop_signal(int number) {
  g_stop_signal = number;
}

}  // namespace

const std::atomic<int>& catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  // The last two are what batch systems warn with before they end a job.
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) sigaction(number, &action, nullptr);
  return g_stop_signal;
}

}  // namespace tp
