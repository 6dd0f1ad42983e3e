#pragma once

#include "runtime/collectives.h"

namespace tp {

// Bytes per second that all ranks' threads together read from memory at once. Collective; every rank gets the same number.
double measure_read_bandwidth(int threads, Communicator& communicator);

}  // namespace tp
