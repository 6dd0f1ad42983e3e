#pragma once

#include <string>
#include <vector>

#include "runtime/prompt_source.h"

namespace tp {

// A continuation that somebody waits for.
struct QueuedPrompt {
  GeneratePrompt prompt;
  std::vector<std::string> stop;
  std::string text;  // of the prompt, where it is known
};

}  // namespace tp
