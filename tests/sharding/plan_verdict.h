#pragma once

#include <string>
#include <vector>

#include "sharding/plan.h"
#include "tests/sharding/toy_model.h"

namespace tp {

// A toy model with a plan laid over it.
struct PlanSetting {
  std::string family = "llama";
  ToyModel model = {};
  int tp_size = 2;
  std::vector<std::string> overrides = {};
  TiedWeights tied = TiedWeights::kReject;
  bool uneven = false;
  bool tie_word_embeddings = false, lm_head_stored = true;
};

ResolvedPlan resolved(const PlanSetting& setting);

// The whole text that a user sees after "tprun: error: ", or "accepted".
std::string verdict(const PlanSetting& setting);

}  // namespace tp
