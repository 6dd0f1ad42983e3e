#pragma once

#include <string>
#include <vector>

#include "sharding/config_values.h"

namespace tp {

// Looks at every key of a config.json that its family does not read:
// - one that never changes a forward pass (initializer_range, use_cache, …) is passed over;
// - one that changes the numbers of some other family is a problem unless its value does nothing (null, false, 1.0, …);
// - one that nobody knows is returned, for a warning.
std::vector<std::string> check_foreign_keys(ConfigValues& values, const std::vector<std::string>& own_keys);

}  // namespace tp
