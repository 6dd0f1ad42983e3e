#pragma once

#include <string>
#include <vector>

namespace tp {

// Coordinates [x, y, z] of this host's first chip in its slice, asked of the plugin by a process that lets go of the chips
// again (tprun-aot --coordinates). Empty when the plugin does not tell, or not within the time.
std::vector<int> slice_coordinates(const std::string& plugin, double timeout_s);

}  // namespace tp
