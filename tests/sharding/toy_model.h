#pragma once

#include <string>
#include <vector>

#include "sharding/parameters.h"

namespace tp {

// A decoder as small as the plan tests need it, in the module names of Llama.
struct ToyModel {
  int layers = 2;
  int64_t vocab = 320, hidden = 64, intermediate = 160, heads = 8, kv_heads = 4, head_dim = 8;
  bool qk_norm = false;        // per head
  bool full_qk_norm = false;   // over the whole projection: olmo2
  bool fused_qkv = false;      // phi3
  bool fused_gate_up = false;  // glm

  ModelConfig config() const;
  std::vector<ModuleSpec> modules() const;
};

}  // namespace tp
