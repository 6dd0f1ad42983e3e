#include "sharding/rope_config.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace tp {
namespace {

constexpr double kLargest = 1e15;

const std::map<std::string, RopeType>& rope_types() {
  static const std::map<std::string, RopeType> types = {
      {"default", RopeType::kDefault}, {"linear", RopeType::kLinear}, {"dynamic", RopeType::kDynamic},
      {"llama3", RopeType::kLlama3},   {"yarn", RopeType::kYarn},     {"longrope", RopeType::kLongRope},
  };
  return types;
}

// `rope_type`, else the older `type`, else "default".
RopeType read_type(ConfigValues& rope, const Family& family) {
  const std::string key = rope.has("rope_type") ? "rope_type" : "type";
  if (!rope.has(key)) return RopeType::kDefault;
  std::string name = rope.text(key);
  for (const auto& [from, to] : parse_aliases(family.rope_type_aliases)) {
    if (name == from) name = to;
  }
  const auto found = rope_types().find(name);
  if (found != rope_types().end()) return found->second;
  rope.problem(key, "is \"" + name + "\", a scaling that is not supported (default, dynamic, linear, llama3, longrope, yarn)");
  return RopeType::kDefault;
}

int64_t original_max_position(ConfigValues& values, ConfigValues& rope, int64_t max_position) {
  const std::string key = "original_max_position_embeddings";
  const int64_t limit = int64_t{1} << 40;
  // The key beside the rope object wins over the one in it, as in transformers.
  if (values.has(key)) return values.integer(key, 1, limit);
  return rope.optional_integer(key, 1, limit).value_or(max_position);
}

void read_yarn(ConfigValues& rope, RopeConfig& out) {
  out.attention_factor = rope.optional_number("attention_factor", 0, kLargest);
  out.mscale = rope.optional_number("mscale", 0, kLargest);
  out.mscale_all_dim = rope.optional_number("mscale_all_dim", 0, kLargest);
  // 0 means "not given", as null does.
  const double fast = rope.optional_number("beta_fast", 0, kLargest).value_or(0);
  const double slow = rope.optional_number("beta_slow", 0, kLargest).value_or(0);
  if (fast != 0) out.beta_fast = fast;
  if (slow != 0) out.beta_slow = slow;
  if (out.mscale == 0.0) out.mscale = std::nullopt;
  if (out.mscale_all_dim == 0.0) out.mscale_all_dim = std::nullopt;
  out.truncate = rope.written("truncate") ? rope.boolean("truncate") : true;
  if (out.theta <= 1.0) rope.problem("rope_theta", "must be over 1 for yarn");
}

void read_longrope(ConfigValues& rope, const Family& family, RopeConfig& out) {
  out.attention_factor = rope.optional_number("attention_factor", 0, kLargest);
  out.short_factor = rope.numbers("short_factor", 1e-9, kLargest);
  out.long_factor = rope.numbers("long_factor", 1e-9, kLargest);
  const auto check = [&](const std::string& key, const std::vector<double>& factors) {
    const auto count = static_cast<int64_t>(factors.size());
    if (count == 0 || count == out.rotary_dim / 2) return;
    rope.problem(key, "has " + std::to_string(count) + " numbers, not rotary_dim / 2 = " + std::to_string(out.rotary_dim / 2));
  };
  if (family.short_frequencies) {
    out.short_mscale = rope.number("short_mscale", -kLargest, kLargest);
    out.long_mscale = rope.number("long_mscale", -kLargest, kLargest);
  }
  check("short_factor", out.short_factor);
  check("long_factor", out.long_factor);
}

void read_llama3(ConfigValues& rope, RopeConfig& out) {
  out.low_freq_factor = rope.number("low_freq_factor", 1e-9, kLargest);
  out.high_freq_factor = rope.number("high_freq_factor", 1e-9, kLargest);
  if (out.high_freq_factor == out.low_freq_factor) rope.problem("high_freq_factor", "equals low_freq_factor");
}

// A key that no type reads is refused: somebody meant it to change the numbers. One that another type reads is ignored, as
// in transformers; so are the sections of multimodal positions, which are all the same for text.
void check_rope_keys(ConfigValues& rope, const Family& family) {
  static const std::set<std::string_view> known = {
      "rope_type",       "type",
      "rope_theta",      "partial_rotary_factor",
      "factor",          "beta_fast",
      "beta_slow",       "original_max_position_embeddings",
      "mscale",          "mscale_all_dim",
      "truncate",        "attention_factor",
      "short_factor",    "long_factor",
      "low_freq_factor", "high_freq_factor",
      "mrope_section",   "mrope_interleaved",
  };
  for (const auto& [key, value] : rope.written_values().items()) {
    const bool mscale = family.short_frequencies && (key == "short_mscale" || key == "long_mscale");
    const bool read = known.contains(key) || mscale || (family.ntk_alpha && key == "alpha") ||
                      (family.rope_scales_queries && (key == "llama_4_scaling_beta" || key == "max_position_embeddings"));
    if (!read && !value.is_null()) rope.problem(key, "is not supported");
  }
}

// hunyuan: a "dynamic" rope with `alpha` is a plain one with a larger theta.
void apply_ntk_alpha(ConfigValues& rope, RopeConfig& out) {
  const double alpha = rope.optional_number("alpha", 0, kLargest).value_or(0);
  if (out.type != RopeType::kDynamic || alpha == 0 || out.rotary_dim <= 2) return;
  const auto dim = static_cast<double>(out.rotary_dim);
  out.theta *= std::pow(alpha, dim / (dim - 2));
  out.type = RopeType::kDefault;
}

int64_t read_rotary_dim(ConfigValues& values, ConfigValues& rope, const Family& family, const ModelConfig& config) {
  double partial = 1.0;
  if (rope.has("partial_rotary_factor")) {
    partial = rope.number("partial_rotary_factor", 0, 1);
  } else if (values.has("partial_rotary_factor")) {
    partial = values.number("partial_rotary_factor", 0, 1);
  }
  if (partial != 1.0 && !family.partial_rotary) {
    values.problem("partial_rotary_factor", "is not supported for this model_type");
  }
  const int64_t head_dim = config.mla ? config.mla->qk_rope_head_dim : config.head_dim;
  auto rotary_dim = static_cast<int64_t>(static_cast<double>(head_dim) * partial);
  const std::string features(family.rotary_dim_key);
  if (!features.empty() && values.has(features) && !rope.has("partial_rotary_factor")) {
    rotary_dim = values.integer(features, 1, config.head_dim);
  }
  if (rotary_dim % 2 != 0 || rotary_dim == 0) {
    values.problem("head_dim", "gives " + std::to_string(rotary_dim) + " rotated features per head; it must be an even number");
  }
  return rotary_dim;
}

RopeConfig read_rope(ConfigValues& values, ConfigValues rope, const Family& family, double default_theta,
                     const ModelConfig& config) {
  RopeConfig out;
  out.layout = family.rope_layout;
  out.reversed = family.rope_reversed;
  if (!family.rope_interleaved.empty() && values.boolean(std::string(family.rope_interleaved))) {
    out.layout = RopeLayout::kInterleaved;
  }
  out.type = read_type(rope, family);
  check_rope_keys(rope, family);
  out.theta = rope.has("rope_theta") ? rope.number("rope_theta", 1e-9, kLargest) : default_theta;
  out.rotary_dim = read_rotary_dim(values, rope, family, config);
  if (family.ntk_alpha) apply_ntk_alpha(rope, out);
  const bool scaled = out.type != RopeType::kDefault;
  const bool pretrained_length = scaled && out.type != RopeType::kLinear && out.type != RopeType::kDynamic;
  out.original_max_position = config.max_position_embeddings;
  if (pretrained_length) out.original_max_position = original_max_position(values, rope, config.max_position_embeddings);
  const bool factor_from_lengths = out.type == RopeType::kLongRope || (out.type == RopeType::kYarn && rope.written("factor"));
  if (scaled && factor_from_lengths && !rope.has("factor")) {
    out.factor = static_cast<double>(config.max_position_embeddings) / static_cast<double>(out.original_max_position);
  } else if (scaled) {
    out.factor = rope.number("factor", 1e-9, kLargest);
  }
  if (family.short_frequencies && scaled && out.type != RopeType::kLongRope) {
    rope.problem("rope_type", "is not supported for this model_type (default, longrope)");
  }
  if (out.type == RopeType::kYarn) read_yarn(rope, out);
  if (out.type == RopeType::kLongRope) read_longrope(rope, family, out);
  if (out.type == RopeType::kLlama3) read_llama3(rope, out);
  return out;
}

double theta_of(ConfigValues& values, const std::string& key, double otherwise) {
  return values.has(key) ? values.number(key, 1e-9, kLargest) : otherwise;
}

// granite_swa: the one rope again for each theta of `layer_rope_theta`.
void add_layer_thetas(ConfigValues& values, ModelConfig& config) {
  if (!values.has("layer_rope_theta")) return;
  const RopeConfig one = config.ropes.front();
  config.ropes.clear();
  for (const double theta : values.numbers("layer_rope_theta", 0, kLargest)) {
    if (theta == 0 || std::ranges::find(config.ropes, theta, &RopeConfig::theta) != config.ropes.end()) continue;
    config.ropes.push_back(one);
    config.ropes.back().theta = theta;
  }
  if (config.ropes.empty()) config.ropes.push_back(one);
}

// llama4: in layers that do not rotate the queries grow with their position.
void add_query_stretch(ConfigValues& values, ModelConfig& config) {
  RopeConfig stretch = config.ropes.front();
  stretch.type = RopeType::kDefault;
  stretch.still = true;
  stretch.position_beta = values.number("attn_scale", -kLargest, kLargest);
  stretch.position_offset = 1;
  stretch.original_max_position = values.integer("floor_scale", 1, int64_t{1} << 40);
  config.ropes.push_back(stretch);
}

// One rope for all layers. `rope_scaling` wins over `rope_parameters` when both say something.
void read_one_rope(ConfigValues& values, const Family& family, ModelConfig& config) {
  const Json& older = values.at("rope_scaling");
  const std::string key = !older.is_null() && !older.empty() ? "rope_scaling" : "rope_parameters";
  if (values.has(key) && !values.at(key).is_object()) values.problem(key, "is not an object");
  const double theta = theta_of(values, "rope_theta", family.default_theta);
  config.ropes.push_back(read_rope(values, values.object(key), family, theta, config));
  if (family.rope_rule == RopeRule::kLayerTheta) add_layer_thetas(values, config);
  if (values.known("attn_temperature_tuning") && values.boolean("attn_temperature_tuning")) add_query_stretch(values, config);
  if (!family.rope_scales_queries) return;
  ConfigValues rope = values.object(key);
  config.ropes.push_back(config.ropes.front());
  config.ropes.back().position_beta = rope.number("llama_4_scaling_beta", -kLargest, kLargest);
  if (!rope.has("original_max_position_embeddings")) {
    rope.problem("original_max_position_embeddings", "is missing, which `llama_4_scaling_beta` needs");
  }
}

// ropes[0] for full layers, ropes[1] for sliding ones. An older `rope_scaling` speaks of the full layers alone.
void read_rope_per_layer_type(ConfigValues& values, const Family& family, ModelConfig& config) {
  ConfigValues nested = values.object("rope_parameters");
  for (const auto& [key, value] : nested.written_values().items()) {
    const bool layer_type = key == "full_attention" || key == "sliding_attention";
    if (!layer_type || !(value.is_null() || value.is_object())) nested.problem(key, "is not the rope of a layer type");
  }
  Json full = nested.at("full_attention").is_object() ? nested.at("full_attention") : Json::object();
  if (values.at("rope_scaling").is_object()) full.update(values.at("rope_scaling"));
  const double theta = theta_of(values, "rope_theta", family.default_theta);
  config.ropes.push_back(read_rope(values, nested.inner("full_attention", full), family, theta, config));
  const double sliding_theta = theta_of(values, std::string(family.sliding_theta_key), family.sliding_theta);
  config.ropes.push_back(read_rope(values, nested.object("sliding_attention"), family, sliding_theta, config));
  // transformers looks for it beside the layer types, where no configuration class puts it.
  for (RopeConfig& rope : config.ropes) rope.truncate = true;
}

}  // namespace

std::vector<std::string> rope_keys(const Family& family) {
  std::vector<std::string> keys = {"rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor",
                                   "original_max_position_embeddings"};
  for (const std::string_view key : {family.sliding_theta_key, family.rotary_dim_key}) {
    if (!key.empty()) keys.emplace_back(key);
  }
  return keys;
}

void read_ropes(ConfigValues& values, const Family& family, ModelConfig& config) {
  if (family.sliding_theta != 0.0) {
    read_rope_per_layer_type(values, family, config);
  } else {
    read_one_rope(values, family, config);
  }
}

}  // namespace tp
