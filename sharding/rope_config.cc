#include "sharding/rope_config.h"

#include <algorithm>
#include <map>
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

// `rope_type`, the older `type`, or "default"; the first names of longrope and of a scaling that is none are older still.
RopeType read_type(ConfigValues& rope) {
  const std::string key = rope.has("rope_type") ? "rope_type" : "type";
  if (!rope.has(key)) return RopeType::kDefault;
  const std::string name = rope.text(key);
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
  out.truncate = rope.written("truncate") ? rope.boolean("truncate") : true;
  if (out.theta <= 1.0) rope.problem("rope_theta", "must be over 1 for yarn");
}

void read_longrope(ConfigValues& rope, RopeConfig& out) {
  out.attention_factor = rope.optional_number("attention_factor", 0, kLargest);
  out.short_factor = rope.numbers("short_factor", 1e-9, kLargest);
  out.long_factor = rope.numbers("long_factor", 1e-9, kLargest);
  const auto check = [&](const std::string& key, const std::vector<double>& factors) {
    const auto count = static_cast<int64_t>(factors.size());
    if (count == 0 || count == out.rotary_dim / 2) return;
    rope.problem(key, "has " + std::to_string(count) + " numbers, not rotary_dim / 2 = " + std::to_string(out.rotary_dim / 2));
  };
  check("short_factor", out.short_factor);
  check("long_factor", out.long_factor);
}

void read_llama3(ConfigValues& rope, RopeConfig& out) {
  out.low_freq_factor = rope.number("low_freq_factor", 1e-9, kLargest);
  out.high_freq_factor = rope.number("high_freq_factor", 1e-9, kLargest);
  if (out.high_freq_factor == out.low_freq_factor) rope.problem("high_freq_factor", "equals low_freq_factor");
}

// The keys of a rope object that its type reads; any other is refused, since somebody meant it to change the numbers.
void check_rope_keys(ConfigValues& rope, RopeType type, const std::set<std::string>& nested_names) {
  std::set<std::string> known = {"rope_type", "type", "rope_theta", "partial_rotary_factor"};
  const auto add = [&](std::initializer_list<const char*> keys) { known.insert(keys.begin(), keys.end()); };
  // What transformers writes beside any type and reads for some.
  add({"factor", "original_max_position_embeddings", "attention_factor"});
  if (type == RopeType::kYarn) add({"beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"});
  if (type == RopeType::kLongRope) add({"short_factor", "long_factor", "short_mscale", "long_mscale"});
  if (type == RopeType::kLlama3) add({"low_freq_factor", "high_freq_factor"});
  for (const auto& [key, value] : rope.written_values().items()) {
    if (!known.contains(key) && !nested_names.contains(key) && !value.is_null()) {
      rope.problem(key, "is not supported with this rope_type");
    }
  }
}

RopeConfig read_rope(ConfigValues& values, ConfigValues rope, const Family& family, double default_theta, ModelConfig& config) {
  RopeConfig out;
  out.layout = family.rope_layout;
  out.type = read_type(rope);
  check_rope_keys(rope, out.type, {});
  if (rope.has("rope_theta")) {
    out.theta = rope.number("rope_theta", 1e-9, kLargest);
  } else if (values.has("rope_theta")) {
    out.theta = values.number("rope_theta", 1e-9, kLargest);
  } else {
    out.theta = default_theta;
  }
  double partial = 1.0;
  if (rope.has("partial_rotary_factor")) {
    partial = rope.number("partial_rotary_factor", 0, 1);
  } else if (values.has("partial_rotary_factor")) {
    partial = values.number("partial_rotary_factor", 0, 1);
  }
  if (partial != 1.0 && !family.partial_rotary) values.problem("partial_rotary_factor", "is not supported for this model_type");
  const int64_t head_dim = config.mla ? config.mla->qk_rope_head_dim : config.head_dim;
  out.rotary_dim = static_cast<int64_t>(static_cast<double>(head_dim) * partial);
  if (out.rotary_dim % 2 != 0 || out.rotary_dim == 0) {
    values.problem("head_dim",
                   "gives " + std::to_string(out.rotary_dim) + " rotated features per head; it must be an even number");
  }
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
  if (out.type == RopeType::kYarn) read_yarn(rope, out);
  if (out.type == RopeType::kLongRope) read_longrope(rope, out);
  if (out.type == RopeType::kLlama3) read_llama3(rope, out);
  return out;
}

// `rope_scaling` wins over `rope_parameters` when both say something (convert_rope_params_to_dict).
std::string rope_key(const ConfigValues& values) {
  const Json& older = values.at("rope_scaling");
  return !older.is_null() && !older.empty() ? "rope_scaling" : "rope_parameters";
}

}  // namespace

std::vector<std::string> rope_keys(const Family&) {
  return {"rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor", "original_max_position_embeddings"};
}

void read_ropes(ConfigValues& values, const Family& family, const std::vector<std::string>& layer_types, ModelConfig& config) {
  const std::string key = rope_key(values);
  if (values.has(key) && !values.at(key).is_object()) values.problem(key, "is not an object");
  config.ropes.push_back(read_rope(values, values.object(key), family, family.default_theta, config));
  (void)layer_types;
}

}  // namespace tp
