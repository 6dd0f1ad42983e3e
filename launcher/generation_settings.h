#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "launcher/options.h"
#include "runtime/prompt_options.h"
#include "sharding/model_config.h"

namespace tp {

// How tokens are chosen and when a continuation ends. Each value comes from its option, else generation_config.json, else
// config.json (where older models keep it), else the default.
struct GenerationSettings {
  int64_t max_new_tokens = 20;
  bool max_new_tokens_by_default = true;  // neither an option nor a file says it
  std::optional<int64_t> max_length;      // prompt and continuation, when that is what the model's files bound
  PromptOptions prompt;                   // what a line of JSONL may change
  int64_t samples = 1;                    // continuations of each prompt
  std::vector<int32_t> eos_token_ids;
  std::vector<std::pair<std::string, std::string>> shown;  // "temperature" -> "0.6 (generation_config.json)", for --show-config
  std::vector<std::string> notes;                          // keys of generation_config.json that are not used
};

// Throws Error for values out of range, wherever they come from.
GenerationSettings generation_settings(const Options& options, const std::filesystem::path& model_dir,
                                       const ModelConfig& config);

}  // namespace tp
