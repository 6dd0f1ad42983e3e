#pragma once

#include <string>

#include "runtime/collectives.h"
#include "runtime/timeline.h"

namespace tp {

// Writes the --trace file on rank 0: Chrome's trace event format (JSON Array Format of the "Trace Event Format" document),
// which Perfetto reads too, one track per rank. Of a collective what passed until the last rank came is shown as "wait".
// Collective. Throws Error when the file cannot be written.
void write_trace(const std::string& path, const Timeline& timeline, Communicator& communicator);

}  // namespace tp
