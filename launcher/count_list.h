#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/options.h"

namespace tp {

// The value of an option that is a list of whole numbers of at least 1, as "128,512"; empty when it is not given. Throws Error.
std::vector<int64_t> count_list(const Options& options, const std::string& name);

}  // namespace tp
