#pragma once

#include <cstdint>
#include <vector>

#include "sharding/model_config.h"

namespace tp {

// Rotary frequencies of a sequence of `length` tokens: angle of pair i at position p = p * inverse[i]. Formulas:
// transformers/modeling_rope_utils.py.
struct RopeFrequencies {
  std::vector<float> inverse;     // [rotary_dim / 2]
  float attention_factor = 1.0f;  // multiplies cos and sin
};

// `max_position` = max_position_embeddings. `length` matters for dynamic and longrope scaling only.
RopeFrequencies rope_frequencies(const RopeConfig& rope, int64_t max_position, int64_t length);

// True when a cache filled while the sequence had `before` tokens holds keys turned by other frequencies than those of
// `after` tokens in a way that the reference mends by computing the sequence again (longrope: short and long factors).
bool rope_needs_rebuild(const ModelConfig& config, int64_t before, int64_t after);

// True when keys of a sequence of `length` tokens are turned by other frequencies than those of a short one (dynamic,
// longrope).
bool rope_depends_on_length(const ModelConfig& config, int64_t length);

// cos and sin of one call, float32, for each of its rows with their real lengths (never the bucket's).
struct RopeTable {
  std::vector<float> cos, sin;  // [B, T, rotary_dim / 2]
};
// Row b covers positions [start[b], start[b] + width); `total[b]` = tokens of the sequence that the scaling sees.
RopeTable rope_table(const RopeConfig& rope, int64_t max_position, int64_t width, const std::vector<int32_t>& start,
                     const std::vector<int32_t>& total);

}  // namespace tp
