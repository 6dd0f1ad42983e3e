#pragma once

#include "launcher/options.h"

namespace tp {

// `plan aot`: has tprun-aot compile the model's programs for --topology and gives its exit code: 0 = they fit, 2 = they do not.
// Throws Error for what can be refused without it, and when it ended by a signal.
int plan_aot(const Options& options);

}  // namespace tp
