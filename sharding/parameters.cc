#include "sharding/parameters.h"

#include <stdexcept>
#include <string_view>
#include <utility>

#include "sharding/config_values.h"
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
      if (c_.mla) {
        latent_attention();
      } else {
        attention();
      }
      if (c_.post_attention_norm) norm(names_.post_attention_norm, Role::kPostAttentionNorm);
      norm(names_.pre_mlp_norm, Role::kPreMlpNorm);
      if (c_.layers[static_cast<size_t>(layer_)].moe) {
        experts();
      } else {
        mlp();
      }
      const bool experts_norm = c_.post_experts_norm && c_.layers[static_cast<size_t>(layer_)].moe;
      if (c_.post_mlp_norm || experts_norm) norm(names_.post_mlp_norm, Role::kPostMlpNorm);
    }
    layer_ = -1;
    ModuleSpec& final_norm = add(outer(names_.final_norm), Role::kFinalNorm, {c_.hidden_size});
    final_norm.has_weight = c_.norm_weight;
    final_norm.has_bias = c_.norm_bias;
    ModuleSpec& head = add(std::string(names_.lm_head), Role::kLmHead, {c_.vocab_size, c_.hidden_size});
    head.has_bias = c_.lm_head_bias;
    head.stored_name = names_.stored_lm_head;
    rename_parts();
    return std::move(modules_);
  }

 private:
  // The other names of families whose checkpoints spell parts of them differently.
  void rename_parts() {
    const auto parts = parse_aliases(names_.stored_parts);
    for (ModuleSpec& module : modules_) {
      std::string name = module.name;
      for (const auto& [part, stored] : parts) {
        if (const size_t at = name.find(part); at != std::string::npos) name.replace(at, part.size(), stored);
      }
      if (name == module.name) continue;
      if (module.stored_name.empty()) module.stored_name = name + (module.bare ? "" : ".weight");
      module.stored_bias = name + ".bias";
    }
  }

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
    if (c_.qk_norm == QkNorm::kNone || !c_.layers[static_cast<size_t>(layer_)].qk_norm) return;
    std::vector<int64_t> shape = {c_.head_dim};
    if (c_.qk_norm == QkNorm::kPerHeadWeights) shape = {heads, c_.head_dim};
    if (c_.qk_norm == QkNorm::kFullProjection) shape = {heads * c_.head_dim};
    ModuleSpec& module = add(inner(name), role, shape);
    module.has_weight = c_.norm_weight && c_.qk_norm_weight;
    module.has_bias = c_.norm_bias;
    if (c_.qk_norm != QkNorm::kPerHead) module.heads_out = heads;
  }

  void attention() {
    const int64_t q_size = c_.num_heads * c_.head_dim, kv_size = c_.num_kv_heads * c_.head_dim;
    if (c_.fused_qkv) {
      ModuleSpec& qkv = linear(names_.qkv, Role::kQkv, q_size + 2 * kv_size, c_.hidden_size, c_.q_bias);
      if (c_.qkv_groups > 0) {
        qkv.heads_out = c_.qkv_groups;
      } else {
        qkv.parts = {{q_size, c_.num_heads}, {kv_size, c_.num_kv_heads}, {kv_size, c_.num_kv_heads}};
      }
    } else {
      linear(names_.q, Role::kQ, q_size, c_.hidden_size, c_.q_bias).heads_out = c_.num_heads;
      linear(names_.k, Role::kK, kv_size, c_.hidden_size, c_.k_bias).heads_out = c_.num_kv_heads;
      linear(names_.v, Role::kV, kv_size, c_.hidden_size, c_.v_bias).heads_out = c_.num_kv_heads;
      if (!names_.stored_qkv.empty()) stored_together(names_.stored_qkv);
    }
    qk_norm(names_.q_norm, Role::kQNorm, c_.num_heads);
    qk_norm(names_.k_norm, Role::kKNorm, c_.num_kv_heads);
    if (c_.attention_gate)
      linear(names_.attention_gate, Role::kAttentionGate, q_size, c_.hidden_size, false).heads_out = c_.num_heads;
    if (c_.attention_sinks) bare("self_attn.sinks", Role::kSinks, {c_.num_heads}).heads_out = c_.num_heads;
    linear(names_.o, Role::kO, c_.hidden_size, q_size, c_.o_bias).heads_in = c_.num_heads;
  }

  // The last three modules are q, k and v, which checkpoints have in one weight.
  void stored_together(std::string_view name) {
    int64_t rows = 0;
    for (auto module = modules_.end() - 3; module != modules_.end(); ++module) {
      module->stored_name = inner(name) + ".weight";
      module->stored_row = rows;
      rows += module->weight_shape[0];
    }
    for (auto module = modules_.end() - 3; module != modules_.end(); ++module) module->stored_rows = rows;
  }

  void latent_attention() {
    const MlaConfig& mla = *c_.mla;
    const int64_t q_size = c_.num_heads * c_.head_dim;
    if (mla.q_lora_rank == 0) {
      linear("self_attn.q_proj", Role::kQ, q_size, c_.hidden_size, false).heads_out = c_.num_heads;
    } else {
      linear("self_attn.q_a_proj", Role::kQA, mla.q_lora_rank, c_.hidden_size, mla.a_bias);
      add(inner("self_attn.q_a_layernorm"), Role::kQANorm, {mla.q_lora_rank});
      linear("self_attn.q_b_proj", Role::kQB, q_size, mla.q_lora_rank, false).heads_out = c_.num_heads;
    }
    const int64_t a_size = mla.kv_lora_rank + mla.qk_rope_head_dim;
    linear("self_attn.kv_a_proj_with_mqa", Role::kKvA, a_size, c_.hidden_size, mla.a_bias);
    add(inner("self_attn.kv_a_layernorm"), Role::kKvANorm, {mla.kv_lora_rank});
    const int64_t b_size = c_.num_heads * (mla.qk_nope_head_dim + mla.v_head_dim);
    linear("self_attn.kv_b_proj", Role::kKvB, b_size, mla.kv_lora_rank, false).heads_out = c_.num_heads;
    linear(names_.o, Role::kO, c_.hidden_size, c_.num_heads * mla.v_head_dim, c_.o_bias).heads_in = c_.num_heads;
  }

  // A parameter that is no module's weight.
  ModuleSpec& bare(std::string_view name, Role role, std::vector<int64_t> shape) {
    ModuleSpec& module = add(inner(name), role, std::move(shape));
    module.bare = true;
    return module;
  }

  std::string stored(std::string_view name) const { return name.empty() ? "" : inner(name); }

  // "…experts.*.gate_proj.weight": one expert's tensor.
  std::string per_expert(std::string_view part) const {
    const std::string_view experts = names_.stored_experts.empty() ? names_.experts : names_.stored_experts;
    return inner(experts) + ".*." + std::string(part) + ".weight";
  }

  void experts() {
    const MoeConfig& moe = *c_.moe;
    const int64_t count = moe.num_experts, hidden = c_.hidden_size, width = moe.intermediate_size;
    ModuleSpec& router = linear(names_.router, Role::kRouter, count, hidden, moe.router_bias);
    router.stored_name = stored(names_.stored_router);
    if (moe.correction_bias) correction_bias(count);
    const std::string name = std::string(names_.experts);
    const bool swapped = moe.transposed, alternating = moe.clamped_swiglu;
    std::vector<int64_t> gate_up_shape = {count, 2 * width, hidden}, down_shape = {count, hidden, width};
    if (swapped) std::swap(gate_up_shape[1], gate_up_shape[2]);
    if (swapped) std::swap(down_shape[1], down_shape[2]);
    ModuleSpec& gate_up = bare(name + ".gate_up_proj", Role::kExpertsGateUp, gate_up_shape);
    gate_up.stored_name = stored(names_.stored_gate_up);
    gate_up.transposed = swapped;
    if (!alternating) gate_up.parts = {{width, 0}, {width, 0}};
    if (!swapped) gate_up.per_expert = {per_expert(names_.expert_gate), per_expert(names_.expert_up)};
    if (moe.expert_bias) bare(name + ".gate_up_proj_bias", Role::kExpertsGateUpBias, {count, 2 * width});
    ModuleSpec& down = bare(name + ".down_proj", Role::kExpertsDown, down_shape);
    down.stored_name = stored(names_.stored_down);
    down.transposed = swapped;
    if (!swapped) down.per_expert = {per_expert(names_.expert_down)};
    if (moe.expert_bias) bare(name + ".down_proj_bias", Role::kExpertsDownBias, {count, hidden});
    shared_expert();
  }

  void correction_bias(int64_t count) {
    const std::string usual = std::string(names_.router) + ".e_score_correction_bias";
    const std::vector<int64_t> shape = c_.moe->correction_row ? std::vector<int64_t>{1, count} : std::vector<int64_t>{count};
    bare(names_.correction_bias.empty() ? usual : names_.correction_bias, Role::kCorrectionBias, shape).may_be_missing =
        names_.correction_may_be_missing;
  }

  void shared_expert() {
    const int64_t width = c_.moe->shared_intermediate_size;
    if (width == 0) return;
    const std::string name = std::string(names_.shared_expert);
    if (c_.moe->shared_fused) {
      linear(name + ".input_linear", Role::kSharedGateUp, 2 * width, c_.hidden_size, false).parts = {{width, 0}, {width, 0}};
      linear(name + ".output_linear", Role::kSharedDown, c_.hidden_size, width, false);
      return;
    }
    linear(name + ".gate_proj", Role::kSharedGate, width, c_.hidden_size, c_.gate_up_bias);
    linear(name + ".up_proj", Role::kSharedUp, width, c_.hidden_size, c_.gate_up_bias);
    linear(name + ".down_proj", Role::kSharedDown, c_.hidden_size, width, c_.down_bias);
    if (c_.moe->shared_gate) linear(name + "_gate", Role::kSharedExpertGate, 1, c_.hidden_size, false);
  }

  void mlp() {
    const int64_t hidden = c_.hidden_size, inner_size = c_.intermediate_size;
    if (c_.mlp == MlpForm::kGatedFused) {
      linear(names_.gate_up, Role::kGateUp, 2 * inner_size, hidden, c_.gate_up_bias).parts = {{inner_size, 0}, {inner_size, 0}};
    } else {
      if (c_.mlp == MlpForm::kGated) linear(names_.gate, Role::kGate, inner_size, hidden, c_.gate_up_bias);
      linear(names_.up, Role::kUp, inner_size, hidden, c_.gate_up_bias);
    }
    if (c_.xielu) bare("mlp.act_fn.alpha_p", Role::kXieluPositive, {1});
    if (c_.xielu) bare("mlp.act_fn.alpha_n", Role::kXieluNegative, {1});
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
