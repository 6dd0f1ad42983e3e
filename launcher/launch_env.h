#pragma once

#include <map>
#include <string>

#include "launcher/control.h"

namespace tp {

using Environment = std::map<std::string, std::string>;

// What torchrun gives every rank, for a job on one host.
Environment rank_environment(const RankHello& place, const std::string& master_addr, int master_port);

}  // namespace tp
