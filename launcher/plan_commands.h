#pragma once

#include "launcher/options.h"

namespace tp {

// `tprun plan check|show`: proves that the plan fits --model on --tp chips, or prints what every chip holds. A config.json is
// enough; where weights are, their headers are checked too. Returns the exit code; throws Error for a plan that does not fit.
int run_plan(const Options& options);

}  // namespace tp
