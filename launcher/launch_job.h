#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/launch_settings.h"
#include "launcher/options.h"

namespace tp {

// Runs `program` on every rank and returns the exit code of cli.md. `input` is what rank 0 reads; nullopt passes tprun's own
// standard input on. With --dry-run prints what would run and starts nothing. Throws Error before anything is started.
int run_on_ranks(const Options& options, const LaunchSettings& settings, const std::vector<std::string>& program,
                 const std::optional<std::string>& input);

}  // namespace tp
