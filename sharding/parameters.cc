#include "sharding/parameters.h"

#include <stdexcept>
#include <string_view>

#include "sharding/families.h"

namespace tp {
namespace {

// Adds the modules of one model in forward order.
class TreeBuilder {
 public:
  TreeBuilder(const ModelConfig& config, const ParameterNames& names) : c_(config), names_(names) {}

  std::vector<ModuleSpec> build() {
    add(outer(names_.embedding), Role::kEmbedding, {c_.vocab_size, c_.hidden_size});
    for (layer_ = 0; layer_ < static_cast<int>(c_.num_layers()); ++layer_) {
      norm(names_.pre_attention_norm, Role::kPreAttentionNorm);
      attention();
      norm(names_.post_attention_norm, Role::kPostAttentionNorm);
      norm(names_.pre_mlp_norm, Role::kPreMlpNorm);
      mlp();
      norm(names_.post_mlp_norm, Role::kPostMlpNorm);
    }
    layer_ = -1;
    ModuleSpec& final_norm = add(outer(names_.final_norm), Role::kFinalNorm, {c_.hidden_size});
    final_norm.has_weight = c_.norm_weight;
    final_norm.has_bias = c_.norm_bias;
    add(std::string(names_.lm_head), Role::kLmHead, {c_.vocab_size, c_.hidden_size}).has_bias = c_.lm_head_bias;
    return std::move(modules_);
  }

 private:
  std::string outer(std::string_view name) const { return std::string(names_.prefix) + std::string(name); }
  std::string inner(std::string_view name) const {
    return outer(names_.layers) + "." + std::to_string(layer_) + "." + std::string(name);
  }

  ModuleSpec& add(std::string name, Role role, std::vector<int64_t> shape) {
    ModuleSpec module;
    module.name = std::move(name);
    module.role = role;
    module.layer = layer_;
    module.weight_shape = std::move(shape);
    return modules_.emplace_back(std::move(module));
  }

  void norm(std::string_view name, Role role) {
    if (name.empty()) return;
    ModuleSpec& module = add(inner(name), role, {c_.hidden_size});
    module.has_weight = c_.norm_weight;
    module.has_bias = c_.norm_bias;
  }

  ModuleSpec& linear(std::string_view name, Role role, int64_t out, int64_t in, bool bias) {
    ModuleSpec& module = add(inner(name), role, {out, in});
    module.has_bias = bias;
    return module;
  }

  void qk_norm(std::string_view name, Role role, int64_t heads) {
    if (c_.qk_norm == QkNorm::kNone) return;
    std::vector<int64_t> shape = {c_.head_dim};
    if (c_.qk_norm == QkNorm::kPerHeadWeights) shape = {heads, c_.head_dim};
    if (c_.qk_norm == QkNorm::kFullProjection) shape = {heads * c_.head_dim};
    ModuleSpec& module = add(inner(name), role, shape);
    module.has_bias = c_.norm_bias;
    if (c_.qk_norm != QkNorm::kPerHead) module.heads_out = heads;
  }

  void attention() {
    const int64_t q_size = c_.num_heads * c_.head_dim, kv_size = c_.num_kv_heads * c_.head_dim;
    if (c_.fused_qkv) {
      ModuleSpec& qkv = linear(names_.qkv, Role::kQkv, q_size + 2 * kv_size, c_.hidden_size, c_.q_bias);
      if (c_.qkv_per_head) {
        qkv.heads_out = c_.num_heads;
      } else {
        qkv.parts = {{q_size, c_.num_heads}, {kv_size, c_.num_kv_heads}, {kv_size, c_.num_kv_heads}};
      }
    } else {
      linear(names_.q, Role::kQ, q_size, c_.hidden_size, c_.q_bias).heads_out = c_.num_heads;
      linear(names_.k, Role::kK, kv_size, c_.hidden_size, c_.k_bias).heads_out = c_.num_kv_heads;
      linear(names_.v, Role::kV, kv_size, c_.hidden_size, c_.v_bias).heads_out = c_.num_kv_heads;
    }
    qk_norm(names_.q_norm, Role::kQNorm, c_.num_heads);
    qk_norm(names_.k_norm, Role::kKNorm, c_.num_kv_heads);
    linear(names_.o, Role::kO, c_.hidden_size, q_size, c_.o_bias).heads_in = c_.num_heads;
  }

  void mlp() {
    const int64_t hidden = c_.hidden_size, inner_size = c_.intermediate_size;
    if (c_.mlp == MlpForm::kGatedFused) {
      linear(names_.gate_up, Role::kGateUp, 2 * inner_size, hidden, c_.gate_up_bias).parts = {{inner_size, 0}, {inner_size, 0}};
    } else {
      if (c_.mlp == MlpForm::kGated) linear(names_.gate, Role::kGate, inner_size, hidden, c_.gate_up_bias);
      linear(names_.up, Role::kUp, inner_size, hidden, c_.gate_up_bias);
    }
    linear(names_.down, Role::kDown, hidden, inner_size, c_.down_bias);
  }

  const ModelConfig& c_;
  const ParameterNames& names_;
  std::vector<ModuleSpec> modules_;
  int layer_ = -1;
};

}  // namespace

std::vector<ModuleSpec> module_tree(const ModelConfig& config) {
  const Family* family = find_family(config.model_type);
  if (!family) throw std::logic_error("module_tree: no family " + config.model_type);
  return TreeBuilder(config, family->names).build();
}

}  // namespace tp
