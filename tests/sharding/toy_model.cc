#include "tests/sharding/toy_model.h"

namespace tp {
namespace {

ModuleSpec module(const std::string& name, Role role, int layer, std::vector<int64_t> shape, int64_t heads_out = 0,
                  int64_t heads_in = 0) {
  ModuleSpec spec{.name = name, .role = role, .layer = layer, .weight_shape = std::move(shape)};
  spec.heads_out = heads_out;
  spec.heads_in = heads_in;
  return spec;
}

}  // namespace

ModelConfig ToyModel::config() const {
  ModelConfig config;
  config.path = "config.json";
  config.model_type = "llama";
  config.vocab_size = vocab;
  config.hidden_size = hidden;
  config.intermediate_size = intermediate;
  config.num_heads = heads;
  config.num_kv_heads = kv_heads;
  config.head_dim = head_dim;
  config.fused_qkv = fused_qkv;
  if (fused_gate_up) config.mlp = MlpForm::kGatedFused;
  if (qk_norm) config.qk_norm = QkNorm::kPerHead;
  if (full_qk_norm) config.qk_norm = QkNorm::kFullProjection;
  config.layers.resize(layers);
  return config;
}

std::vector<ModuleSpec> ToyModel::modules() const {
  std::vector<ModuleSpec> tree;
  tree.push_back(module("model.embed_tokens", Role::kEmbedding, -1, {vocab, hidden}));
  for (int n = 0; n < layers; ++n) {
    const std::string layer = "model.layers." + std::to_string(n) + ".";
    tree.push_back(module(layer + "input_layernorm", Role::kPreAttentionNorm, n, {hidden}));
    add_attention(tree, n, layer + "self_attn.");
    tree.push_back(module(layer + "post_attention_layernorm", Role::kPreMlpNorm, n, {hidden}));
    if (experts > 0 && n > 0) {
      add_experts(tree, n, layer + "mlp.");
    } else {
      add_mlp(tree, n, layer + "mlp.");
    }
  }
  tree.push_back(module("model.norm", Role::kFinalNorm, -1, {hidden}));
  tree.push_back(module("lm_head", Role::kLmHead, -1, {vocab, hidden}));
  return tree;
}

void ToyModel::add_attention(std::vector<ModuleSpec>& tree, int n, const std::string& prefix) const {
  const int64_t q = heads * head_dim, kv = kv_heads * head_dim;
  if (latent) {
    tree.push_back(module(prefix + "q_a_proj", Role::kQA, n, {24, hidden}));
    tree.push_back(module(prefix + "q_a_layernorm", Role::kQANorm, n, {24}));
    tree.push_back(module(prefix + "q_b_proj", Role::kQB, n, {q, 24}, heads));
    tree.push_back(module(prefix + "kv_a_proj_with_mqa", Role::kKvA, n, {20, hidden}));
    tree.push_back(module(prefix + "kv_a_layernorm", Role::kKvANorm, n, {16}));
    tree.push_back(module(prefix + "kv_b_proj", Role::kKvB, n, {2 * q, 16}, heads));
  } else if (fused_qkv) {
    tree.push_back(module(prefix + "qkv_proj", Role::kQkv, n, {q + 2 * kv, hidden}));
    tree.back().parts = {{q, heads}, {kv, kv_heads}, {kv, kv_heads}};
  } else {
    tree.push_back(module(prefix + "q_proj", Role::kQ, n, {q, hidden}, heads));
    tree.push_back(module(prefix + "k_proj", Role::kK, n, {kv, hidden}, kv_heads));
    tree.push_back(module(prefix + "v_proj", Role::kV, n, {kv, hidden}, kv_heads));
  }
  if (qk_norm || full_qk_norm) {
    tree.push_back(module(prefix + "q_norm", Role::kQNorm, n, {qk_norm ? head_dim : q}, qk_norm ? 0 : heads));
    tree.push_back(module(prefix + "k_norm", Role::kKNorm, n, {qk_norm ? head_dim : kv}, qk_norm ? 0 : kv_heads));
  }
  if (norm_per_head) {
    tree.push_back(module(prefix + "q_norm", Role::kQNorm, n, {heads, head_dim}, heads));
    tree.push_back(module(prefix + "k_norm", Role::kKNorm, n, {kv_heads, head_dim}, kv_heads));
  }
  if (sinks) tree.push_back(module(prefix + "sinks", Role::kSinks, n, {heads}, heads));
  tree.push_back(module(prefix + "o_proj", Role::kO, n, {hidden, q}, 0, heads));
}

void ToyModel::add_mlp(std::vector<ModuleSpec>& tree, int n, const std::string& prefix) const {
  if (fused_gate_up) {
    tree.push_back(module(prefix + "gate_up_proj", Role::kGateUp, n, {2 * intermediate, hidden}));
    tree.back().parts = {{intermediate, 0}, {intermediate, 0}};
  } else {
    tree.push_back(module(prefix + "gate_proj", Role::kGate, n, {intermediate, hidden}));
    tree.push_back(module(prefix + "up_proj", Role::kUp, n, {intermediate, hidden}));
  }
  tree.push_back(module(prefix + "down_proj", Role::kDown, n, {hidden, intermediate}));
}

void ToyModel::add_experts(std::vector<ModuleSpec>& tree, int n, const std::string& prefix) const {
  tree.push_back(module(prefix + "gate", Role::kRouter, n, {experts, hidden}));
  tree.push_back(module(prefix + "experts.gate_up_proj", Role::kExpertsGateUp, n, {experts, 64, hidden}));
  if (!expert_bias) tree.back().parts = {{32}, {32}};
  if (expert_bias) tree.push_back(module(prefix + "experts.gate_up_proj_bias", Role::kExpertsGateUpBias, n, {experts, 64}));
  tree.push_back(module(prefix + "experts.down_proj", Role::kExpertsDown, n, {experts, hidden, 32}));
  if (expert_bias) tree.push_back(module(prefix + "experts.down_proj_bias", Role::kExpertsDownBias, n, {experts, hidden}));
  if (expert_bias) return;
  tree.push_back(module(prefix + "shared_experts.gate_proj", Role::kSharedGate, n, {32, hidden}));
  tree.push_back(module(prefix + "shared_experts.up_proj", Role::kSharedUp, n, {32, hidden}));
  tree.push_back(module(prefix + "shared_experts.down_proj", Role::kSharedDown, n, {hidden, 32}));
}

}  // namespace tp
