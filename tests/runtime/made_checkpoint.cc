#include "tests/runtime/made_checkpoint.h"

#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sharding/plan_yaml.h"
#include "tests/runtime/safetensors_header.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

void append(std::string& bytes, float value, bool half) {
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = half ? 16 : 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift);
}

}  // namespace

void MadeCheckpoint::write(const std::filesystem::path& dir) const {
  const int64_t head_dim = hidden / heads, element = dtype == "F32" ? 4 : 2;
  const Json config{{"model_type", "llama"},
                    {"vocab_size", vocab},
                    {"hidden_size", hidden},
                    {"intermediate_size", intermediate},
                    {"num_hidden_layers", 1},
                    {"num_attention_heads", heads},
                    {"num_key_value_heads", kv_heads},
                    {"head_dim", head_dim},
                    {"max_position_embeddings", 64},
                    {"tie_word_embeddings", tied},
                    {"rms_norm_eps", 1e-6},
                    {"hidden_act", "silu"}};
  std::ofstream(dir / "config.json") << config.dump();

  const std::string layer = "model.layers.0.";
  std::vector<std::pair<std::string, std::vector<int64_t>>> tensors = {
      {"model.embed_tokens.weight", {vocab, hidden}},
      {layer + "self_attn.q_proj.weight", {heads * head_dim, hidden}},
      {layer + "self_attn.k_proj.weight", {kv_heads * head_dim, hidden}},
      {layer + "self_attn.v_proj.weight", {kv_heads * head_dim, hidden}},
      {layer + "self_attn.o_proj.weight", {hidden, heads * head_dim}},
      {layer + "mlp.gate_proj.weight", {intermediate, hidden}},
      {layer + "mlp.up_proj.weight", {intermediate, hidden}},
      {layer + "mlp.down_proj.weight", {hidden, intermediate}},
      {layer + "input_layernorm.weight", {hidden}},
      {layer + "post_attention_layernorm.weight", {hidden}},
      {"model.norm.weight", {hidden}}};
  if (!tied) tensors.push_back({"lm_head.weight", {vocab, hidden}});

  std::vector<HeaderTensor> stored;
  if (bytes_before > 0) stored.push_back({"unused", "U8", {bytes_before}});
  std::string data(value ? static_cast<size_t>(bytes_before) : 0, '\0');
  int64_t size = bytes_before;
  for (size_t t = 0; t < tensors.size(); ++t) {
    stored.push_back({tensors[t].first, dtype, tensors[t].second});
    const int64_t elements = stored.back().elements();
    size += elements * element;
    if (!value) continue;
    for (int64_t i = 0; i < elements; ++i) append(data, value(static_cast<int64_t>(t), i), element == 2);
  }
  const std::string header = safetensors_header(stored);
  const std::filesystem::path path = dir / "model.safetensors";
  std::ofstream(path, std::ios::binary) << header << data;
  std::filesystem::resize_file(path, header.size() + static_cast<size_t>(size));
}

ParameterTable made_table(const std::filesystem::path& dir, int tp_size, int rank) {
  const ModelConfig config = load_model_config(dir);
  return {resolve_plan(load_plan({}, config, TPRUN_SOURCE_DIR "/plans"), config, tp_size), config, rank};
}

}  // namespace tp
