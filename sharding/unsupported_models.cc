#include "sharding/unsupported_models.h"

#include <map>

namespace tp {
namespace {

const std::map<std::string_view, std::string_view>& reasons() {
  static const std::map<std::string_view, std::string_view> table = {
      {"axk2", "a sparse attention indexer chooses the keys of every query"},
      {"bailing_hybrid", "its linear attention layers keep a recurrent state"},
      {"bamba", "its Mamba2 layers keep a recurrent state"},
      {"beam", "its residual sums are weighted by depth, and its attention gates have a bias for each head"},
      {"cohere_compass_text", "it has a rope of its own for each layer type and none for some"},
      {"deepseek_v4", "its attention compresses keys, and blocks are joined by hyper-connections"},
      {"diffllama", "its attention is the difference of two softmaxes"},
      {"doge", "its attention has a learned dynamic mask, and its MLP retrieves experts by product keys"},
      {"dory", "its residual stream lies on a sphere with learned rates, and its layers run in loops"},
      {"dots3_note_text", "a sparse attention indexer chooses the keys of every query"},
      {"falcon_h1", "its Mamba2 layers keep a recurrent state"},
      {"falcon_mamba", "its Mamba layers keep a recurrent state"},
      {"gemma3n_text",
       "it has per-layer embeddings, several residual streams (AltUp) and layers that read other layers' cache"},
      {"gemma4_text", "it has per-layer embeddings, heads of two sizes and layers that read other layers' cache"},
      {"gemma4_unified_text", "it has heads of two sizes and layers whose keys are their values"},
      {"granitemoehybrid", "its Mamba2 layers keep a recurrent state"},
      {"hrm_text", "its stacks of layers run in loops"},
      {"hy_v4", "a sparse attention indexer chooses the keys of every query, and blocks are joined by hyper-connections"},
      {"inkling2_loop_text", "its short convolutions keep the last inputs, and its layers run in loops"},
      {"inkling2_text", "its short convolutions keep the last inputs, and attention adds relative position logits"},
      {"inkling_text", "its short convolutions keep the last inputs, and attention adds relative position logits"},
      {"jamba", "its Mamba layers keep a recurrent state"},
      {"kimi_linear", "its delta attention layers keep a recurrent state"},
      {"laguna", "its layers have different numbers of heads, and its attention gates are softplus"},
      {"lara_mini", "its gated delta net layers keep a recurrent state"},
      {"lfm2", "its short convolution layers keep the last inputs"},
      {"lfm2_moe", "its short convolution layers keep the last inputs"},
      {"lfm3", "its short convolution layers keep the last inputs"},
      {"longcat_flash", "its layers have two attentions and identity experts"},
      {"mamba", "its layers keep a recurrent state"},
      {"mamba2", "its layers keep a recurrent state"},
      {"mimo_v2_flash", "its layers have different numbers of KV heads, and values have a size of their own"},
      {"minimax", "its lightning attention layers keep a recurrent state"},
      {"minimax_m3_vl_text", "a sparse attention indexer chooses the blocks of keys of every query"},
      {"nemotron_h", "its Mamba2 layers keep a recurrent state"},
      {"olmo_hybrid", "its gated delta net layers keep a recurrent state"},
      {"qwen3_5_moe_text", "its gated delta net layers keep a recurrent state"},
      {"qwen3_5_text", "its gated delta net layers keep a recurrent state"},
      {"qwen3_next", "its gated delta net layers keep a recurrent state"},
      {"qwen4_exp_text", "its gated delta net layers keep a recurrent state"},
      {"recurrent_gemma", "its RG-LRU layers keep a recurrent state"},
      {"rwkv", "its layers keep a recurrent state"},
      {"zamba", "its Mamba layers keep a recurrent state"},
      {"zamba2", "its Mamba2 layers keep a recurrent state"},
  };
  return table;
}

}  // namespace

std::string_view unsupported_reason(std::string_view model_type) {
  const auto found = reasons().find(model_type);
  return found == reasons().end() ? std::string_view() : found->second;
}

std::vector<std::string> unsupported_model_types() {
  std::vector<std::string> names;
  for (const auto& [name, reason] : reasons()) names.emplace_back(name);
  return names;
}

}  // namespace tp
