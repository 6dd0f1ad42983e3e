#pragma once

#include <optional>
#include <string>

#include "launcher/launch_env.h"

namespace tp {

// `tprun env`: `export NAME=value` lines for the shell; with a rank also that rank's own. Throws Error for a rank that this
// host does not have.
std::string env_assignments(const LaunchEnv& env, std::optional<int64_t> rank);

// `tprun env --json`: {"env": {common}, "ranks": [{…}, …]}; with a rank, that one alone under "ranks".
std::string env_json(const LaunchEnv& env, std::optional<int64_t> rank);

}  // namespace tp
