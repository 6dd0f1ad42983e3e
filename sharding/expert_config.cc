#include "sharding/expert_config.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tp {
namespace {

constexpr int64_t kMaxExperts = 1 << 12;
constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxHeadDim = 1 << 14;
constexpr int64_t kMaxLayers = 4096;
constexpr double kLargest = 1e15;
constexpr int64_t kMaxTopk = int64_t{1} << 40;

bool is_on(Switch what, ConfigValues& values) {
  if (what.empty()) return false;
  return what == "yes" || values.boolean(std::string(what));
}

// `mlp_layer_types`: "sparse" or "dense" for every layer.
void mark_written_layers(ConfigValues& values, std::vector<LayerConfig>& layers) {
  const std::vector<std::string> types = values.texts("mlp_layer_types");
  if (types.size() != layers.size()) {
    if (values.sound({"num_hidden_layers"}))
      values.problem("mlp_layer_types",
                     "has " + std::to_string(types.size()) + " entries for " + std::to_string(layers.size()) + " layers");
    return;
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i].moe = types[i] == "sparse";
    if (types[i] != "sparse" && types[i] != "dense")
      values.problem("mlp_layer_types", "has \"" + types[i] + "\" (sparse, dense)");
  }
}

// A number, or a list that says the same one for every layer: hunyuan.
int64_t one_for_all_layers(ConfigValues& values, const std::string& key, int64_t low, int64_t high) {
  if (!values.at(key).is_array()) return values.integer(key, low, high);
  const std::vector<int64_t> numbers = values.integers(key, low, high);
  if (numbers.empty() || std::ranges::count(numbers, numbers.front()) != std::ssize(numbers)) {
    values.problem(key, "differs between layers, which is not supported");
    return low;
  }
  return numbers.front();
}

void mark_layers(ConfigValues& values, SparseRule rule, std::vector<LayerConfig>& layers) {
  if (rule == SparseRule::kFirstDense && values.has("mlp_layer_types")) return mark_written_layers(values, layers);
  if (rule == SparseRule::kListed && values.has("moe_layers")) {
    const std::vector<int64_t> listed = values.integers("moe_layers", 0, kMaxLayers);
    for (size_t i = 0; i < layers.size(); ++i) layers[i].moe = std::ranges::count(listed, static_cast<int64_t>(i)) > 0;
    return;
  }
  int64_t first = 0, last = kMaxLayers, step = 1;
  std::vector<int64_t> dense;
  if (rule == SparseRule::kInterval) {
    first = values.integer("moe_layer_start_index", 0, kMaxLayers);
    step = values.integer("moe_layer_interval", 1, kMaxLayers);
    const int64_t end = values.integer("moe_layer_end_index", -1, kMaxLayers);
    if (end >= 0) last = end;
  }
  if (rule == SparseRule::kFirstDense) first = values.integer("first_k_dense_replace", 0, kMaxLayers);
  if (rule == SparseRule::kDenseCount) first = values.integer("num_dense_layers", 0, kMaxLayers);
  if (rule == SparseRule::kListed) step = values.integer("interleave_moe_layer_step", 1, kMaxLayers);
  if (rule == SparseRule::kStep) {
    step = values.integer("decoder_sparse_step", 1, kMaxLayers);
    if (values.has("mlp_only_layers")) dense = values.integers("mlp_only_layers", 0, kMaxLayers);
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    layers[i].moe = layer >= first && layer <= last && (layer + 1) % step == 0 &&
                    std::find(dense.begin(), dense.end(), layer) == dense.end();
  }
}

void read_shared_expert(ConfigValues& values, const MoeSpelling& spelling, MoeConfig& moe) {
  if (!spelling.shared_intermediate_size.empty()) {
    moe.shared_intermediate_size = values.integer(std::string(spelling.shared_intermediate_size), 0, kMaxWidth);
  }
  if (spelling.shared_count) {
    moe.shared_intermediate_size = moe.intermediate_size * values.integer("n_shared_experts", 0, 64);
  }
  moe.shared_gate = spelling.shared_gate;
  moe.shared_fused = spelling.shared_fused;
  if (spelling.shared_strategy.empty()) return;
  const std::string key(spelling.shared_strategy), strategy = values.text(key);
  moe.averages_shared = strategy == "average" && moe.shared_intermediate_size > 0;
  if (strategy != "average" && strategy != "sum") values.problem(key, "is \"" + strategy + "\" (sum, average)");
}

// cohere2_moe: how the chosen experts are weighted.
void read_selection(ConfigValues& values, MoeConfig& moe) {
  const std::string key = "expert_selection_fn";
  if (!values.known(key)) return;
  const std::string function = values.text(key);
  if (function == "softmax") {
    moe.router = RouterKind::kTopKSoftmax;
    moe.normalize_top_k = false;
  } else if (function != "sigmoid") {
    values.problem(key, "is \"" + function + "\" (softmax, sigmoid)");
  }
}

void read_groups(ConfigValues& values, const MoeSpelling& spelling, MoeConfig& moe) {
  moe.group_score = spelling.group_score;
  moe.routed_scaling = values.number("routed_scaling_factor", -kLargest, kLargest);
  bool grouped = true;
  if (values.known("topk_method")) {
    const std::string method = values.text("topk_method");
    grouped = method == "group_limited_greedy";
    if (!grouped && method != "greedy")
      values.problem("topk_method", "is \"" + method + "\" (known: greedy, group_limited_greedy)");
  }
  if (!grouped) return;
  moe.groups = values.integer("n_group", 1, kMaxExperts);
  moe.top_groups = values.integer("topk_group", 1, kMaxExperts);
  const int64_t group_size = moe.num_experts / moe.groups;
  if (moe.num_experts % moe.groups != 0) {
    values.problem("n_group", "is " + std::to_string(moe.groups) + ", which does not divide " +
                                  std::to_string(moe.num_experts) + " experts");
  } else if (moe.top_groups > moe.groups || moe.top_k > moe.top_groups * group_size) {
    values.problem("topk_group", "is " + std::to_string(moe.top_groups) + " of " + std::to_string(moe.groups) +
                                     " groups, too few or too many for top " + std::to_string(moe.top_k));
  } else if (moe.group_score == GroupScore::kTopTwoSum && group_size < 2) {
    values.problem("n_group", "leaves one expert per group; groups are scored by their best two");
  }
}

}  // namespace

void read_moe(ConfigValues& values, const Family& family, ModelConfig& config) {
  const MoeSpelling& spelling = family.moe;
  if (spelling.num_experts.empty()) return;
  MoeConfig moe;
  moe.num_experts = values.integer(std::string(spelling.num_experts), 1, kMaxExperts);
  moe.top_k = one_for_all_layers(values, std::string(spelling.top_k), 1, kMaxExperts);
  moe.intermediate_size = values.integer(std::string(spelling.intermediate_size), 1, kMaxWidth);
  if (moe.top_k > moe.num_experts) {
    values.problem(std::string(spelling.top_k),
                   "is " + std::to_string(moe.top_k) + ", more than the " + std::to_string(moe.num_experts) + " experts");
  }
  moe.router = spelling.router;
  moe.normalize_top_k = is_on(spelling.normalize_top_k, values);
  read_selection(values, moe);
  read_shared_expert(values, spelling, moe);
  moe.correction_bias = spelling.correction_bias;
  moe.correction_row = spelling.correction_row;
  if (spelling.grouped) read_groups(values, spelling, moe);
  if (!spelling.scaling_key.empty()) {
    moe.routed_scaling = values.number(std::string(spelling.scaling_key), -kLargest, kLargest);
  }
  if (spelling.router == RouterKind::kSparseMixer) {
    moe.sparse_mixer_width = 2 * values.number("router_jitter_noise", 0, 1);
  }
  moe.weights_input = spelling.weights_input;
  moe.transposed = spelling.transposed || spelling.clamped_swiglu;
  if (spelling.clamped_swiglu) {
    moe.clamped_swiglu = moe.router_bias = moe.expert_bias = true;
    moe.swiglu_alpha = values.number("swiglu_alpha", -kLargest, kLargest);
    moe.swiglu_limit = values.number("swiglu_limit", 0, kLargest);
  }
  mark_layers(values, spelling.sparse, config.layers);
  config.moe = moe;
}

void read_mla(ConfigValues& values, const Family& family, ModelConfig& config) {
  if (!family.mla) return;
  MlaConfig mla;
  mla.q_lora_rank = values.optional_integer("q_lora_rank", 1, kMaxWidth).value_or(0);
  mla.kv_lora_rank = values.integer("kv_lora_rank", 1, kMaxWidth);
  mla.qk_nope_head_dim = values.integer("qk_nope_head_dim", 1, kMaxHeadDim);
  mla.qk_rope_head_dim = values.integer("qk_rope_head_dim", 1, kMaxHeadDim);
  mla.v_head_dim = values.optional_integer("v_head_dim", 1, kMaxHeadDim).value_or(config.hidden_size / config.num_heads);
  mla.a_bias = values.boolean("attention_bias");
  if (config.num_kv_heads != config.num_heads) {
    values.problem("num_key_value_heads", "is " + std::to_string(config.num_kv_heads) + ", not num_attention_heads = " +
                                              std::to_string(config.num_heads) + " as latent attention needs");
  }
  config.head_dim = mla.qk_nope_head_dim + mla.qk_rope_head_dim;
  config.mla = mla;
  if (family.indexed) config.index_topk = values.integer("index_topk", 1, kMaxTopk);
}

double mla_attention_scale(const ModelConfig& config) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  const RopeConfig& rope = config.ropes.front();
  const double all_dim = rope.mscale_all_dim.value_or(0.0);
  if (rope.type == RopeType::kDefault || all_dim == 0.0 || rope.factor <= 1.0) return scale;
  const double mscale = 0.1 * all_dim * std::log(rope.factor) + 1.0;
  return scale * mscale * mscale;
}

}  // namespace tp
