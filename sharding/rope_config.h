#pragma once

#include <string>
#include <vector>

#include "sharding/config_values.h"
#include "sharding/families.h"
#include "sharding/model_config.h"

namespace tp {

// The rotary bases of a config.json in any of its spellings: `rope_parameters` (flat, or one object per layer type),
// `rope_scaling` + `rope_theta` (`type` or `rope_type`). Needs head_dim, mla and max_position_embeddings of `config`. Sets
// config.ropes: one, or for families with a rope per layer type that of the full and that of the sliding layers. What is
// wrong becomes a problem of `values`.
void read_ropes(ConfigValues& values, const Family& family, ModelConfig& config);

// Config keys that read_ropes looks at.
std::vector<std::string> rope_keys(const Family& family);

}  // namespace tp
