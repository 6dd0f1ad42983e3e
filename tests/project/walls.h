#pragma once

#include <string>
#include <vector>

#include "tests/project/source_tree.h"

namespace tp {

// The walls between the rooms (docs/architecture.md), checked by what files include, also through other headers. One line per
// breach: "sharding/plan.cc: includes <mpi.h>, which sharding must not know".
std::vector<std::string> broken_walls(const SourceTree& tree);

}  // namespace tp
