#pragma once

#include <string>

#include "runtime/job.h"

namespace tp {

// --resume: takes the prompts whose lines are whole in the job's output file off its list, and keeps that part of the file.
// Returns how many lines are kept. A line that was cut off is written again. Throws Error for a file whose lines are not those
// of these prompts.
size_t keep_finished_lines(Job& job);

}  // namespace tp
