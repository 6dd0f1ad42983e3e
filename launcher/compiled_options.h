#pragma once

#include "launcher/options.h"

namespace tp {

// Refuses (Error) what programs for chips have not, whether they are run or only compiled: int8 activations or cache, more
// prompts in flight than a program is made for, a --dump-hlo that is no directory.
void refuse_what_programs_lack(const Options& options);

}  // namespace tp
