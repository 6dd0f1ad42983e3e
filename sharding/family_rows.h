#pragma once

#include <vector>

#include "sharding/families.h"

namespace tp {

// The rows of the table, in parts. Source of each row: transformers 5.24.
std::vector<Family> dense_families();
std::vector<Family> llama_families();    // Llama's modules with small differences, and latent attention without experts
std::vector<Family> gpt_families();      // plain MLPs: GPT-J and others
std::vector<Family> granite_families();  // Granite with windows, sinks and shared experts
std::vector<Family> moe_families();
std::vector<Family> routed_families();    // mixtures of experts with routers of their own kinds
std::vector<Family> deepseek_families();  // DeepSeek and those whose router scores experts as DeepSeek-V3 does

// Names of families that normalize what attention and MLP give, and not what they take: olmo2.
inline constexpr ParameterNames kPostNormNames = {.pre_attention_norm = "",
                                                  .post_attention_norm = "post_attention_layernorm",
                                                  .pre_mlp_norm = "",
                                                  .post_mlp_norm = "post_feedforward_layernorm"};

}  // namespace tp
