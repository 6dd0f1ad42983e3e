#pragma once

#include <functional>
#include <string>

#include "launcher/options.h"

namespace tp {

// `tprun chat`: a conversation in the terminal with a job that `run` starts and supervises and whose first line of input is
// `job`. Ctrl-C stops the answer under way; the end of input or /exit ends the program. Returns the job's exit code.
int chat_in_terminal(const Options& options, const std::string& job, const std::function<int()>& run);

}  // namespace tp
