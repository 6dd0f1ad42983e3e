#pragma once

#include <string>
#include <vector>

#include "sharding/model_config.h"
#include "sharding/plan_yaml.h"

namespace tp {

inline constexpr const char* kPlansDir = TPRUN_SOURCE_DIR "/plans";

// One way to run a case.
struct GoldenRun {
  std::string dtype;
  int tp_size;
  std::vector<std::string> overrides;
  TiedWeights tied = TiedWeights::kUntie;
};

// The ways to run a case over `tp_size` ranks: its default plan; where that splits KV heads that do not divide, attention whole
// on every rank and KV heads shared by ranks.
std::vector<GoldenRun> runs_of(const ModelConfig& config, const std::string& dtype, int tp_size);

}  // namespace tp
