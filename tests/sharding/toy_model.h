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
  bool norm_per_head = false;  // a weight for each head: cohere
  bool sinks = false;          // gpt_oss
  bool fused_qkv = false;      // phi3
  bool fused_gate_up = false;  // glm
  int64_t experts = 0;         // in every layer but the first, of 32 features each, beside a shared one: glm4_moe
  bool expert_bias = false;    // gpt_oss
  bool latent = false;         // deepseek_v2

  ModelConfig config() const;
  std::vector<ModuleSpec> modules() const;

 private:
  void add_attention(std::vector<ModuleSpec>& tree, int n, const std::string& prefix) const;
  void add_mlp(std::vector<ModuleSpec>& tree, int n, const std::string& prefix) const;
  void add_experts(std::vector<ModuleSpec>& tree, int n, const std::string& prefix) const;
};

}  // namespace tp
