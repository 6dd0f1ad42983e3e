#pragma once

#include <string>
#include <vector>

#include "sharding/parameters.h"
#include "tests/runtime/random_source.h"

namespace tp {

// The text of a plan for these modules: each branch keeps its default rules or is laid out in one of the ways that a user might
// choose, for all layers or for one; now and then a rule is any style at all.
std::string random_plan(const std::vector<ModuleSpec>& modules, RandomSource& random);

}  // namespace tp
