#pragma once

#include <string>
#include <vector>

#include "sharding/config_values.h"
#include "sharding/families.h"
#include "sharding/model_config.h"

namespace tp {

// The rotary bases of a config.json in any of its spellings: `rope_parameters` (flat, or one object per layer type),
// `rope_scaling` + `rope_theta` (`type` or `rope_type`). Needs head_dim and max_position_embeddings of `config`. Sets
// config.ropes and the `rope` of every layer; `layer_types` has one name per layer. What is wrong becomes a problem of
// `values`.
void read_ropes(ConfigValues& values, const Family& family, const std::vector<std::string>& layer_types, ModelConfig& config);

// Config keys that read_ropes looks at.
std::vector<std::string> rope_keys(const Family& family);

}  // namespace tp
