#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/chips.h"

namespace tp {

// torch_tpu's table of what one host can form: TORCH_TPU_TOPOLOGY for `ranks` ranks (devices), empty when the generation has
// none.
std::string host_topology(std::string_view generation, int ranks);

// Numbers of ranks that a host with `devices` devices of this generation can form, in order.
std::vector<int> possible_rank_counts(std::string_view generation, int devices);

// Throws Error unless `ranks` can be formed by the chips: more than there are ("asked 8, found 4 chips (4 devices)"), a number
// that has no topology (with the list of those that have: "v6e with 4 chips: 1 or 4"), more than one generation.
void require_possible_count(const HostChips& host, int ranks);

// Number of the host whose chip has these coordinates [x, y, z] in a slice of this topology ("4,4,2"): hosts of 2x2x1 chips,
// z-major, x-minor, as torch_tpu numbers them. nullopt when they lie outside.
std::optional<int> host_of_coordinates(const std::string& topology, std::vector<int> coordinates);

// Product of "2,2,1"; 0 when it is not numbers above 0 with commas between.
int topology_product(std::string_view topology);

}  // namespace tp
