#pragma once

#include <cstdint>

#include "runtime/cpu/context.h"
#include "runtime/cpu/rows.h"
#include "sharding/model_config.h"

namespace tp::cpu {

// Operations on activations [rows, features] in the model's dtype or float32: computed in float32, rounded once to the dtype of
// `out`, which may be an input. Short ones run on the calling thread.

// Learned parameters of a norm, float32.
struct NormWeights {
  const float* weight = nullptr;  // nullptr = 1
  const float* bias = nullptr;    // nullptr = 0
  // false: `size` elements, the same for every group; true: one for each feature.
  bool per_feature = false;
};

// Normalizes each run of `size` features (size divides `features`): NormKind of model_config.h.
void norm_rows(ConstRows x, int64_t rows, int64_t features, int64_t size, NormKind kind, float eps, const NormWeights& weights,
               Rows out, const Context& context);

// sum = x + delta, rounded to sum's dtype; out = norm of that rounded sum over all features. One pass for the residual stream.
void add_and_norm_rows(ConstRows x, ConstRows delta, int64_t rows, int64_t features, NormKind kind, float eps,
                       const NormWeights& weights, Rows sum, Rows out, const Context& context);

// Rotates the first rotary_dim features of every head; cos and sin [rows, rotary_dim / 2].
void rope_rows(ConstRows x, int64_t rows, int64_t heads, int64_t head_dim, int64_t rotary_dim, RopeLayout layout,
               const float* cos, const float* sin, Rows out, const Context& context);

// out = activation(a) * b; without b (data nullptr) activation(a).
void activation_rows(ConstRows a, ConstRows b, int64_t rows, int64_t features, Activation activation, Rows out,
                     const Context& context);

// out = a + b.
void add_rows(ConstRows a, ConstRows b, int64_t rows, int64_t features, Rows out, const Context& context);

// out = x in another dtype.
void convert_rows(ConstRows x, int64_t rows, int64_t features, Rows out, const Context& context);

}  // namespace tp::cpu
