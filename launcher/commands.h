#pragma once

#include "launcher/options.h"

namespace tp {

// Does what the command line says and returns the exit code. Throws Error when it is refused.
int run_command(const Options& options);

}  // namespace tp
