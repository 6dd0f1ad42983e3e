#pragma once

#include "launcher/options.h"

namespace tp {

// How many chips `plan` is about: --tp, else --nproc-per-node, else the devices of --topology, else 1. Throws Error when two of
// them disagree.
int plan_tp_size(const Options& options);

}  // namespace tp
