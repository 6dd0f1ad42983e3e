#pragma once

#include "launcher/options.h"

namespace tp {

// `tprun kernels list|check DIR…`: what packages replace, for which shapes and platforms; check also verifies digests,
// functions and signatures and, with --topology, compiles the variants for TPU. The exit code. Throws Error.
int run_kernels(const Options& options);

}  // namespace tp
