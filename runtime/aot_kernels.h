#pragma once

#include <functional>
#include <string>

#include "runtime/aot_request.h"

namespace tp {

// Traces the programs of a job with its kernels, for the platform of the plugin, and compiles nothing. Throws Error for what
// does not fit: an operation without a variant, a signature that is not that of the operation.
void trace_with_kernels(const AotRequest& request);

// Compiles every variant for TPU of the request's packages for its topology, each in a program of its own. One line a variant
// for people. Throws Error with the compiler's words.
std::string compile_kernels(const AotRequest& request, const std::function<void(const std::string&)>& progress);

}  // namespace tp
