// tprun: the launcher. Options to a job, a job to ranks, ranks to an exit code.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "launcher/commands.h"
#include "launcher/options.h"
#include "launcher/supervisor.h"
#include "sharding/error.h"

int main(int argc, char** argv) {
  tp::block_supervised_signals();
  try {
    return tp::run_command(tp::parse_options(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const tp::Error& error) {
    std::fprintf(stderr, "tprun: error: %s\n", error.text().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tprun: error: %s\n", error.what());
  }
  return tp::kExitRefused;
}
