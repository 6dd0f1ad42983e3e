#include "sharding/layer_config.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace tp {
namespace {

constexpr int64_t kMaxPositions = int64_t{1} << 40;
constexpr const char* kFull = "full_attention";
constexpr const char* kSliding = "sliding_attention";

std::optional<int64_t> read_window(ConfigValues& values, WindowRule rule) {
  const bool needs_use = rule == WindowRule::kAllLayersIfUsed || rule == WindowRule::kFromMaxWindowLayers ||
                         rule == WindowRule::kAlternateBelowMax || rule == WindowRule::kUnrotated;
  if (rule == WindowRule::kNone || (needs_use && !values.boolean("use_sliding_window"))) return std::nullopt;
  return values.optional_integer("sliding_window", 1, kMaxPositions);
}

// For each layer whether it rotates, without the rules that depend on windows.
std::vector<bool> read_rotated(ConfigValues& values, RopeRule rule, size_t layers) {
  std::vector<bool> rotated(layers, true);
  if (rule != RopeRule::kNoRopeLayers) return rotated;
  if (!values.has("no_rope_layers")) {
    const auto interval = static_cast<size_t>(values.integer("no_rope_layer_interval", 1, kMaxPositions));
    for (size_t i = 0; i < layers; ++i) rotated[i] = (i + 1) % interval != 0;
    return rotated;
  }
  const std::vector<int64_t> flags = values.integers("no_rope_layers", 0, 1);
  if (flags.size() != layers) {
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
  const auto pattern = static_cast<size_t>(by_pattern ? values.integer("sliding_window_pattern", 1, kMaxPositions) : 1);
  for (size_t i = 0; i < layers; ++i) {
    const bool slides = rule == WindowRule::kAllLayers || rule == WindowRule::kAllLayersIfUsed ||
                        (rule == WindowRule::kFromMaxWindowLayers && i >= bound) ||
                        (rule == WindowRule::kAlternateBelowMax && i < bound && i % 2 == 0) ||
                        (rule == WindowRule::kPattern && (i + 1) % pattern != 0) ||
                        (rule == WindowRule::kPatternFullFirst && i % pattern != 0) ||
                        (rule == WindowRule::kUnrotated && !rotated[i]);
    if (slides) types[i] = kSliding;
  }
  return types;
}

// The written `layer_types`, or nullopt when they are wrong.
std::optional<std::vector<std::string>> written_types(ConfigValues& values, size_t layers) {
  std::vector<std::string> types = values.texts("layer_types");
  if (types.size() != layers) {
    values.problem("layer_types", "has " + std::to_string(types.size()) + " entries for " + std::to_string(layers) + " layers");
    return std::nullopt;
  }
  for (std::string& type : types) {
    if (type == "attention") type = kFull;  // transformers' older name
    if (type == kFull || type == kSliding) continue;
    values.problem("layer_types", "has \"" + type + "\", which is not supported (full_attention, sliding_attention)");
    return std::nullopt;
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
  const std::optional<std::vector<std::string>> written = written_types(values, layers);
  if (!written) return types;
  if (!reads_types && *written != types) {
    values.problem("layer_types", "differs from the layers that this model_type has");
    return types;
  }
  return *written;
}

}  // namespace

void read_layers(ConfigValues& values, const Family& family, ModelConfig& config) {
  const std::optional<int64_t> window = read_window(values, family.window);
  const std::vector<bool> rotated = read_rotated(values, family.rope_rule, config.layers.size());
  const std::vector<std::string> types = read_types(values, family, window.has_value(), rotated);
  const bool by_type = family.sliding_theta != 0.0;
  for (size_t i = 0; i < types.size(); ++i) {
    LayerConfig& layer = config.layers[i];
    const bool slides = types[i] == kSliding;
    if (slides && !window) {
      values.problem("layer_types", "has sliding_attention, but there is no sliding window");
      return;
    }
    if (slides) layer.window = *window;
    const bool only_sliding = family.rope_rule == RopeRule::kSlidingLayers ||
                              (family.rope_rule == RopeRule::kSlidingLayersIfWindow && window.has_value());
    layer.rope = by_type && slides ? 1 : 0;
    if (!rotated[i] || (only_sliding && !slides)) layer.rope = -1;
    layer.query_rope = family.rope_scales_queries && layer.rope >= 0 ? 1 : layer.rope;
  }
}

}  // namespace tp
