#pragma once

#include "runtime/aot_request.h"

namespace tp {

// Has tprun-aot do what the request says, on this process's own standard output and error, and gives its exit code. Throws
// Error when it ended by a signal, which libtpu can bring about.
int run_aot_child(const AotRequest& request);

// The same of tprun-rank, which loads the torch libraries of the request's kernels and, of a kTrace, sees whether the model's
// operations are of the forms that they take. Throws Error when a library ended the process.
int run_operator_child(const AotRequest& request);

}  // namespace tp
