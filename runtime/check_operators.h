#pragma once

#include <istream>

namespace tp {

// The torch libraries of a job before it starts, in a process of its own, since a library can end the process that loads it:
// reads an AotRequest, loads the libraries of its kernels and, of a kTrace, sees whether the model's operations are of the
// forms that the operators take. Returns the exit code; what is wrong goes to standard error as tprun prints it.
int check_operators(std::istream& request);

}  // namespace tp
