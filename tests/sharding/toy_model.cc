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
  const int64_t q = heads * head_dim, kv = kv_heads * head_dim;
  tree.push_back(module("model.embed_tokens", Role::kEmbedding, -1, {vocab, hidden}));
  for (int n = 0; n < layers; ++n) {
    const std::string layer = "model.layers." + std::to_string(n) + ".";
    tree.push_back(module(layer + "input_layernorm", Role::kPreAttentionNorm, n, {hidden}));
    if (fused_qkv) {
      tree.push_back(module(layer + "self_attn.qkv_proj", Role::kQkv, n, {q + 2 * kv, hidden}));
      tree.back().parts = {{q, heads}, {kv, kv_heads}, {kv, kv_heads}};
    } else {
      tree.push_back(module(layer + "self_attn.q_proj", Role::kQ, n, {q, hidden}, heads));
      tree.push_back(module(layer + "self_attn.k_proj", Role::kK, n, {kv, hidden}, kv_heads));
      tree.push_back(module(layer + "self_attn.v_proj", Role::kV, n, {kv, hidden}, kv_heads));
    }
    if (qk_norm || full_qk_norm) {
      tree.push_back(module(layer + "self_attn.q_norm", Role::kQNorm, n, {qk_norm ? head_dim : q}, qk_norm ? 0 : heads));
      tree.push_back(module(layer + "self_attn.k_norm", Role::kKNorm, n, {qk_norm ? head_dim : kv}, qk_norm ? 0 : kv_heads));
    }
    tree.push_back(module(layer + "self_attn.o_proj", Role::kO, n, {hidden, q}, 0, heads));
    tree.push_back(module(layer + "post_attention_layernorm", Role::kPreMlpNorm, n, {hidden}));
    if (fused_gate_up) {
      tree.push_back(module(layer + "mlp.gate_up_proj", Role::kGateUp, n, {2 * intermediate, hidden}));
      tree.back().parts = {{intermediate, 0}, {intermediate, 0}};
    } else {
      tree.push_back(module(layer + "mlp.gate_proj", Role::kGate, n, {intermediate, hidden}));
      tree.push_back(module(layer + "mlp.up_proj", Role::kUp, n, {intermediate, hidden}));
    }
    tree.push_back(module(layer + "mlp.down_proj", Role::kDown, n, {hidden, intermediate}));
  }
  tree.push_back(module("model.norm", Role::kFinalNorm, -1, {hidden}));
  tree.push_back(module("lm_head", Role::kLmHead, -1, {vocab, hidden}));
  return tree;
}

}  // namespace tp
