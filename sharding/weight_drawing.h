#pragma once

#include <string>

#include "sharding/plan_report.h"

namespace tp {

// An SVG picture of a stored weight, [out, in] as rows and columns (stacked experts: one expert, or the stack when whole
// experts are dealt out), with the part of every chip in its colour. A band that several chips hold is divided between them.
std::string weight_svg(const WeightShare& share);

// The colour of a chip, as CSS: distinct for up to 8 chips, evenly spread hues beyond.
std::string chip_color(int rank, int tp_size);

}  // namespace tp
