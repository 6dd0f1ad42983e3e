#pragma once

#include "launcher/options.h"

namespace tp {

// `tprun tokenize`: one JSON object per line in, one out, as cli.md says. Returns the exit code.
int tokenize(const Options& options);

}  // namespace tp
