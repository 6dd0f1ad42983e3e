#pragma once

#include <string>

#include "runtime/aot_plan.h"

namespace tp {

// The object that `plan aot --json` prints (cli.md), one line.
std::string aot_json(const AotReport& report);
// The same for people: one row a program, then whether it fits and what would.
std::string aot_table(const AotReport& report);

}  // namespace tp
