#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sampler.h"

namespace tp {

// How one prompt is continued, but for its length.
struct PromptOptions {
  SamplingOptions sampling;
  std::vector<std::string> stop;  // texts that end the continuation
  bool ignore_eos = false;
  std::optional<int64_t> top_logprobs;  // how many likeliest ids are told with each token's logprob; nullopt = no logprobs
};

}  // namespace tp
