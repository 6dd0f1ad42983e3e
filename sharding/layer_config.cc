#include "sharding/layer_config.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace tp {
namespace {

constexpr int64_t kMaxPositions = int64_t{1} << 40;
constexpr double kMaxTheta = 1e15;
constexpr const char* kFull = "full_attention";
constexpr const char* kSliding = "sliding_attention";
constexpr const char* kChunked = "chunked_attention";

std::optional<int64_t> read_window(ConfigValues& values, WindowRule rule) {
  const bool needs_use = rule == WindowRule::kAllLayersIfUsed || rule == WindowRule::kFromMaxWindowLayers ||
                         rule == WindowRule::kAlternateBelowMax || rule == WindowRule::kUnrotated;
  if (rule == WindowRule::kNone || (needs_use && !values.boolean("use_sliding_window"))) return std::nullopt;
  return values.optional_integer(rule == WindowRule::kChunks ? "attention_chunk_size" : "sliding_window", 1, kMaxPositions);
}

// For each layer whether it rotates, without the rules that depend on windows.
std::vector<bool> read_rotated(ConfigValues& values, RopeRule rule, size_t layers) {
  std::vector<bool> rotated(layers, true);
  if (rule != RopeRule::kNoRopeLayers) return rotated;
  const Json& flags_or_none = values.at("no_rope_layers");
  if (flags_or_none.is_null() || flags_or_none.empty()) {
    const auto interval = static_cast<size_t>(values.integer("no_rope_layer_interval", 1, kMaxPositions));
    for (size_t i = 0; i < layers; ++i) rotated[i] = (i + 1) % interval != 0;
    return rotated;
  }
  const std::vector<int64_t> flags = values.integers("no_rope_layers", 0, 1);
  if (flags.size() != layers) {
    if (values.sound({"num_hidden_layers"}))
      values.problem("no_rope_layers",
                     "has " + std::to_string(flags.size()) + " entries for " + std::to_string(layers) + " layers");
    return rotated;
  }
  for (size_t i = 0; i < layers; ++i) rotated[i] = flags[i] != 0;
  return rotated;
}

// Whether layer `i` slides when no `layer_types` say so; there is a window.
std::vector<std::string> implied_types(ConfigValues& values, WindowRule rule, const std::vector<bool>& rotated) {
  const size_t layers = rotated.size();
  std::vector<std::string> types(layers, kFull);
  const bool bounded = rule == WindowRule::kFromMaxWindowLayers || rule == WindowRule::kAlternateBelowMax;
  const auto bound = static_cast<size_t>(bounded ? values.integer("max_window_layers", 0, kMaxPositions) : 0);
  const bool by_pattern = rule == WindowRule::kPattern || rule == WindowRule::kPatternFullFirst;
  // cohere2_moe counts its dense layers apart.
  const bool dense_apart = values.known("prefix_dense_sliding_window_pattern");
  const auto dense = static_cast<size_t>(dense_apart ? values.integer("first_k_dense_replace", 0, kMaxPositions) : 0);
  const auto dense_pattern =
      static_cast<size_t>(dense_apart ? values.integer("prefix_dense_sliding_window_pattern", 1, kMaxPositions) : 1);
  const auto pattern = static_cast<size_t>(by_pattern ? values.integer("sliding_window_pattern", 1, kMaxPositions) : 1);
  for (size_t i = 0; i < layers; ++i) {
    const bool slides =
        rule == WindowRule::kAllLayers || rule == WindowRule::kAllLayersIfUsed ||
        (rule == WindowRule::kFromMaxWindowLayers && i >= bound) ||
        (rule == WindowRule::kAlternateBelowMax && i < bound && i % 2 == 0) ||
        (rule == WindowRule::kPattern && (i < dense ? (i + 1) % dense_pattern : (i - dense + 1) % pattern) != 0) ||
        (rule == WindowRule::kPatternFullFirst && i % pattern != 0) ||
        (rule == WindowRule::kEdges && i >= 2 && i % 4 != 1 && i + 1 != layers) ||
        (rule == WindowRule::kChunks && rotated[i]) || (rule == WindowRule::kUnrotated && !rotated[i]);
    if (slides) types[i] = kSliding;
  }
  return types;
}

// The written `layer_types`, or nullopt when they are wrong.
std::optional<std::vector<std::string>> written_types(ConfigValues& values, size_t layers, const Family& family) {
  std::vector<std::string> types = values.texts("layer_types");
  if (types.size() != layers) {
    if (values.sound({"num_hidden_layers"}))
      values.problem("layer_types",
                     "has " + std::to_string(types.size()) + " entries for " + std::to_string(layers) + " layers");
    return std::nullopt;
  }
  for (std::string& type : types) {
    if (type == "attention") type = kFull;  // transformers' older name
    if (type == "indexed_attention" && family.indexed) type = kFull;
    const char* other = family.window == WindowRule::kChunks ? kChunked : kSliding;
    if (type != kFull && type != other) {
      values.problem("layer_types", "has \"" + type + "\", which is not supported (full_attention, " + other + ")");
      return std::nullopt;
    }
    if (type == kChunked) type = kSliding;
  }
  return types;
}

std::vector<std::string> read_types(ConfigValues& values, const Family& family, bool window, const std::vector<bool>& rotated) {
  const size_t layers = rotated.size();
  const bool reads_types = values.known("layer_types");
  const bool has_types = values.has("layer_types");
  std::vector<std::string> types(layers, kFull);
  if (window && !(reads_types && has_types)) types = implied_types(values, family.window, rotated);
  if (!has_types) return types;
  const std::optional<std::vector<std::string>> written = written_types(values, layers, family);
  if (!written) return types;
  if (!reads_types && *written != types) {
    values.problem("layer_types", "differs from the layers that this model_type has");
    return types;
  }
  return *written;
}

// `layer_rope_theta`: the rope of each layer is the one with its theta, 0 = none.
void choose_ropes_by_theta(ConfigValues& values, ModelConfig& config) {
  const std::string key = "layer_rope_theta";
  if (!values.has(key)) return;
  const std::vector<double> thetas = values.numbers(key, 0, kMaxTheta);
  if (thetas.size() != config.layers.size()) {
    values.problem(key,
                   "has " + std::to_string(thetas.size()) + " entries for " + std::to_string(config.layers.size()) + " layers");
    return;
  }
  for (size_t i = 0; i < thetas.size(); ++i) {
    const auto found = std::ranges::find(config.ropes, thetas[i], &RopeConfig::theta);
    config.layers[i].rope = found == config.ropes.end() ? -1 : static_cast<int>(found - config.ropes.begin());
    config.layers[i].query_rope = config.layers[i].rope;
  }
}

}  // namespace

void read_layers(ConfigValues& values, const Family& family, ModelConfig& config) {
  const std::optional<int64_t> window = read_window(values, family.window);
  const std::vector<bool> rotated = read_rotated(values, family.rope_rule, config.layers.size());
  const std::vector<std::string> types = read_types(values, family, window.has_value(), rotated);
  const bool by_type = family.sliding_theta != 0.0;
  const bool dense_rotate = family.rope_rule == RopeRule::kSlidingOrDense &&
                            values.integer("prefix_dense_sliding_window_pattern", 1, kMaxPositions) == 1;
  for (size_t i = 0; i < types.size(); ++i) {
    LayerConfig& layer = config.layers[i];
    const bool slides = types[i] == kSliding;
    if (slides && !window) {
      values.problem("layer_types", "has sliding_attention, but there is no sliding window");
      return;
    }
    if (slides) layer.window = *window;
    const bool only_sliding = family.rope_rule == RopeRule::kSlidingLayers || family.rope_rule == RopeRule::kSlidingOrDense ||
                              (family.rope_rule == RopeRule::kSlidingLayersIfWindow && window.has_value());
    layer.chunked = slides && family.window == WindowRule::kChunks;
    layer.rope = by_type && slides ? 1 : 0;
    if (!rotated[i] || (only_sliding && !slides && !(dense_rotate && !layer.moe))) layer.rope = -1;
    layer.qk_norm = !family.qk_norm_rotated || layer.rope >= 0;
    layer.query_rope = layer.rope;
    // The second rope is that of the queries alone: it stretches them where they turn (ministral3) or where not (llama4).
    if (config.ropes.size() > 1 && !by_type && (layer.rope >= 0) == family.rope_scales_queries) layer.query_rope = 1;
  }
  if (family.rope_rule == RopeRule::kLayerTheta) choose_ropes_by_theta(values, config);
}

}  // namespace tp
