#pragma once

#include "sharding/config_values.h"
#include "sharding/families.h"
#include "sharding/model_config.h"

namespace tp {

// What differs between layers: window and rope of each, by the family's rules and the keys `layer_types`, `sliding_window`,
// `use_sliding_window`, `max_window_layers`, `sliding_window_pattern`, `no_rope_layers`. Needs config.layers at its final size
// and config.ropes. What is wrong becomes a problem of `values`.
void read_layers(ConfigValues& values, const Family& family, ModelConfig& config);

}  // namespace tp
