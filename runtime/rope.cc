#include "runtime/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tp {
namespace {

// theta^(2i / dim) for every pair, in float32 as the reference.
std::vector<float> period_factors(double theta, int64_t dim) {
  std::vector<float> factors(static_cast<size_t>(dim / 2));
  for (size_t i = 0; i < factors.size(); ++i)
    factors[i] = std::pow(static_cast<float>(theta), static_cast<float>(2 * i) / static_cast<float>(dim));
  return factors;
}

std::vector<float> inverse_of(std::vector<float> values, float factor = 1.0f) {
  for (float& value : values) value = 1.0f / (factor * value);
  return values;
}

std::vector<float> llama3(const RopeConfig& rope) {
  std::vector<float> inverse = inverse_of(period_factors(rope.theta, rope.rotary_dim));
  const double context = static_cast<double>(rope.original_max_position);
  const double low_wavelength = context / rope.low_freq_factor, high_wavelength = context / rope.high_freq_factor;
  for (float& frequency : inverse) {
    const double wavelength = 2 * std::numbers::pi / frequency;
    if (wavelength < high_wavelength) continue;
    if (wavelength > low_wavelength) {
      frequency = static_cast<float>(frequency / rope.factor);
      continue;
    }
    const double smooth = (context / wavelength - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
    frequency = static_cast<float>((1 - smooth) * frequency / rope.factor + smooth * frequency);
  }
  return inverse;
}

// Pair index at which a base turns `rotations` times within the original context.
double correction_dim(const RopeConfig& rope, double rotations) {
  const double context = static_cast<double>(rope.original_max_position);
  return static_cast<double>(rope.rotary_dim) * std::log(context / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(rope.theta));
}

std::vector<float> yarn(const RopeConfig& rope) {
  const std::vector<float> factors = period_factors(rope.theta, rope.rotary_dim);
  double low = correction_dim(rope, rope.beta_fast), high = correction_dim(rope, rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rope.rotary_dim - 1));
  if (low == high) high += 0.001;  // no division by zero
  std::vector<float> inverse(factors.size());
  for (size_t i = 0; i < factors.size(); ++i) {
    const float ramp = static_cast<float>(std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0));
    const float interpolated = 1.0f / (static_cast<float>(rope.factor) * factors[i]), extrapolated = 1.0f / factors[i];
    inverse[i] = interpolated * ramp + extrapolated * (1.0f - ramp);
  }
  return inverse;
}

double yarn_scale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

double yarn_attention_factor(const RopeConfig& rope) {
  if (rope.attention_factor) return *rope.attention_factor;
  if (rope.mscale.value_or(0) != 0 && rope.mscale_all_dim.value_or(0) != 0)
    return yarn_scale(rope.factor, *rope.mscale) / yarn_scale(rope.factor, *rope.mscale_all_dim);
  return yarn_scale(rope.factor, 1.0);
}

double longrope_attention_factor(const RopeConfig& rope, int64_t length) {
  if (rope.short_mscale && rope.long_mscale)
    return length > rope.original_max_position ? *rope.long_mscale : *rope.short_mscale;
  if (rope.attention_factor) return *rope.attention_factor;
  if (rope.factor <= 1.0) return 1.0;
  return std::sqrt(1 + std::log(rope.factor) / std::log(static_cast<double>(rope.original_max_position)));
}

std::vector<float> longrope(const RopeConfig& rope, int64_t length) {
  std::vector<float> inverse = period_factors(rope.theta, rope.rotary_dim);
  const bool longer = length > rope.original_max_position && !rope.long_mscale;
  const std::vector<double>& factors = longer ? rope.long_factor : rope.short_factor;
  for (size_t i = 0; i < inverse.size(); ++i) inverse[i] = 1.0f / (static_cast<float>(factors[i]) * inverse[i]);
  return inverse;
}

std::vector<float> dynamic(const RopeConfig& rope, int64_t max_position, int64_t length) {
  const double seen = static_cast<double>(std::max(length, max_position)), dim = static_cast<double>(rope.rotary_dim);
  const double stretch = rope.factor * seen / static_cast<double>(max_position) - (rope.factor - 1);
  return inverse_of(period_factors(rope.theta * std::pow(stretch, dim / (dim - 2)), rope.rotary_dim));
}

// Of ministral3 (get_llama_4_attn_scale) and llama4 (attn_scales): it multiplies the queries, turned or not.
float position_factor(const RopeConfig& rope, int64_t position) {
  if (rope.position_beta == 0) return 1.0f;
  const int64_t periods = (position + rope.position_offset) / rope.original_max_position;
  return static_cast<float>(1 + rope.position_beta * std::log1p(static_cast<double>(periods)));
}

}  // namespace

RopeFrequencies rope_frequencies(const RopeConfig& rope, int64_t max_position, int64_t length) {
  if (rope.still) return {std::vector<float>(static_cast<size_t>(rope.rotary_dim / 2), 0.0f)};
  switch (rope.type) {
    case RopeType::kDefault:
      return {inverse_of(period_factors(rope.theta, rope.rotary_dim))};
    case RopeType::kLinear: {
      std::vector<float> inverse = inverse_of(period_factors(rope.theta, rope.rotary_dim));
      for (float& value : inverse) value /= static_cast<float>(rope.factor);
      return {std::move(inverse)};
    }
    case RopeType::kDynamic:
      return {dynamic(rope, max_position, length)};
    case RopeType::kLlama3:
      return {llama3(rope)};
    case RopeType::kYarn:
      return {yarn(rope), static_cast<float>(yarn_attention_factor(rope))};
    case RopeType::kLongRope:
      return {longrope(rope, length), static_cast<float>(longrope_attention_factor(rope, length))};
  }
  return {};
}

bool rope_needs_rebuild(const ModelConfig& config, int64_t before, int64_t after) {
  return std::any_of(config.ropes.begin(), config.ropes.end(), [&](const RopeConfig& rope) {
    return rope.type == RopeType::kLongRope && before <= rope.original_max_position && after > rope.original_max_position;
  });
}

bool rope_depends_on_length(const ModelConfig& config, int64_t length) {
  return std::any_of(config.ropes.begin(), config.ropes.end(), [&](const RopeConfig& rope) {
    return (rope.type == RopeType::kLongRope && length > rope.original_max_position) ||
           (rope.type == RopeType::kDynamic && length > config.max_position_embeddings);
  });
}

RopeTable rope_table(const RopeConfig& rope, int64_t max_position, int64_t width, const std::vector<int32_t>& start,
                     const std::vector<int32_t>& total) {
  const size_t rows = start.size(), half = static_cast<size_t>(rope.rotary_dim / 2);
  RopeTable table;
  table.cos.resize(rows * static_cast<size_t>(width) * half);
  table.sin.resize(table.cos.size());
  size_t next = 0;
  for (size_t row = 0; row < rows; ++row) {
    const RopeFrequencies frequencies = rope_frequencies(rope, max_position, total[row]);
    for (int64_t t = 0; t < width; ++t) {
      const float position = static_cast<float>(start[row] + t);
      const float factor = frequencies.attention_factor * position_factor(rope, start[row] + t);
      for (size_t i = 0; i < half; ++i, ++next) {
        const float angle = position * frequencies.inverse[i];
        table.cos[next] = std::cos(angle) * factor;
        table.sin[next] = std::sin(angle) * (rope.reversed ? -factor : factor);
      }
    }
  }
  return table;
}

}  // namespace tp
