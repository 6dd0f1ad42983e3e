#pragma once

#include <string>
#include <vector>

#include "launcher/generation_settings.h"
#include "launcher/launch_settings.h"
#include "launcher/options.h"
#include "runtime/job.h"

namespace tp {

struct CheckedJob {
  Job job;
  GenerationSettings settings;
  std::vector<std::string> notes;  // for standard error
};

// Reads and checks everything that `generate`, `score` or `bench` will need (model, plan, tokenizer, prompts, lengths), so that
// what is wrong is known before a process is started. Throws Error.
CheckedJob make_job(const Options& options, const LaunchSettings& launch);

}  // namespace tp
