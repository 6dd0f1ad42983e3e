#pragma once

#include "sharding/config_values.h"
#include "sharding/families.h"
#include "sharding/model_config.h"

namespace tp {

// The mixture of experts of a family that has one: config.moe and LayerConfig::moe. Needs config.layers at its final size.
void read_moe(ConfigValues& values, const Family& family, ModelConfig& config);

// The multi-head latent attention of a family that has one: config.mla, head_dim, num_kv_heads.
void read_mla(ConfigValues& values, const Family& family, ModelConfig& config);

// The factor on q.k of latent attention, which a scaled rope with mscale_all_dim makes larger. Needs config.ropes.
double mla_attention_scale(const ModelConfig& config);

}  // namespace tp
