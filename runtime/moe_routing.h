#pragma once

#include <cstdint>
#include <vector>

#include "sharding/model_config.h"

namespace tp {

struct ExpertChoice {
  int32_t expert = 0;
  float weight = 0.0f;
};

// The experts of `tokens` tokens from their router logits [tokens, num_experts] (MoeConfig says how; ties take the lower
// index): top_k choices per token, best first. `correction` [num_experts] is added for the choice alone; may be null.
std::vector<ExpertChoice> route_tokens(const float* logits, int64_t tokens, const MoeConfig& config, const float* correction);

}  // namespace tp
