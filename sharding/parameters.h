#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharding/model_config.h"

namespace tp {

// What a weight does in the decoder. One per layer for those of a block.
enum class Role {
  kEmbedding,
  kFinalNorm,
  kLmHead,
  kPreAttentionNorm,
  kPostAttentionNorm,
  kPreMlpNorm,
  kPostMlpNorm,
  kQ,
  kK,
  kV,
  kQkv,
  kO,
  kQNorm,
  kKNorm,
  kSinks,          // [heads], bare
  kAttentionGate,  // [heads * head_dim, hidden]
  kGate,
  kUp,
  kGateUp,
  kDown,
  kXieluPositive,  // [1], bare
  kXieluNegative,  // [1], bare
  // multi-head latent attention (MlaConfig)
  kQA,       // [q_lora_rank, hidden]
  kQANorm,   // [q_lora_rank]
  kQB,       // [heads * (nope + rope), q_lora_rank], by heads
  kKvA,      // [kv_lora_rank + rope, hidden]
  kKvANorm,  // [kv_lora_rank]
  kKvB,      // [heads * (nope + v), kv_lora_rank], by heads
  // mixture of experts (MoeConfig)
  kRouter,             // [experts, hidden]
  kCorrectionBias,     // [experts], bare
  kExpertsGateUp,      // [experts, 2 * intermediate, hidden], bare; dims 1 and 2 swapped with MoeConfig::transposed
  kExpertsGateUpBias,  // [experts, 2 * intermediate], bare
  kExpertsDown,        // [experts, hidden, intermediate], bare; dims 1 and 2 swapped with MoeConfig::transposed
  kExpertsDownBias,    // [experts, hidden], bare
  kSharedGate,
  kSharedUp,
  kSharedGateUp,  // with MoeConfig::shared_fused
  kSharedDown,
  kSharedExpertGate,  // [1, hidden]
};

// A part of a fused weight along dim 0: `size` rows made of `heads` blocks (0 = plain features).
struct FusedPart {
  int64_t size = 0;
  int64_t heads = 0;
  int64_t heads_per_group = 0;  // as in ModuleSpec
};

// One module that owns parameters (a linear, a norm, an embedding), with the names that a checkpoint uses.
struct ModuleSpec {
  std::string name;  // dotted, as transformers has it: "model.layers.3.self_attn.q_proj"
  Role role;
  int layer = -1;                     // -1 outside the blocks
  std::vector<int64_t> weight_shape;  // [out, in], [vocab, hidden] or [features]
  bool has_weight = true;             // a norm without parameters has none
  bool has_bias = false;              // of weight_shape[0] elements
  // Heads along dim 0 (q, k, v: out = heads * head_dim) or dim 1 (o); 0 = plain features.
  int64_t heads_out = 0, heads_in = 0;
  // Heads that stay together where a plan deals heads out unevenly (head_layout.h); 0 = the ranks divide them.
  int64_t heads_per_group = 0;
  std::vector<FusedPart> parts;  // of the out dimension (experts: of each expert's); empty = not fused
  bool transposed = false;       // stored [.., in, out]: experts of gpt_oss, llama4
  bool bare = false;             // the parameter is `name` itself, without ".weight" behind it
  // A checkpoint may have one tensor per expert instead of the stacked one: their names with "*" for the expert's number,
  // in the order in which they are joined along the expert's out dimension ("…experts.*.gate_proj.weight", "…up_proj…").
  std::vector<std::string> per_expert;
  // Other names that checkpoints use for the whole weight and the bias; empty = none.
  std::string stored_name, stored_bias;
  // The tensor `stored_name` has so many rows, of which the weight's begin at `stored_row`; 0: it is the weight alone.
  int64_t stored_rows = 0, stored_row = 0;
  bool may_be_missing = false;  // a checkpoint without it means zeros

  std::string weight_name() const { return bare ? name : name + ".weight"; }
  std::string bias_name() const { return name + ".bias"; }
};

// The module tree of a model, in the order of the forward pass. A tied lm_head is in the list all the same; that it
// shares its tensor with the embedding is a matter of ModelConfig::tie_word_embeddings and the plan.
std::vector<ModuleSpec> module_tree(const ModelConfig& config);

}  // namespace tp
