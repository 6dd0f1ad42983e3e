#include "runtime/cpu/quantize.h"

#include <algorithm>
#include <cmath>

#include "runtime/cpu/pack_weight.h"
#include "runtime/float_convert.h"

namespace tp::cpu {
namespace {

constexpr int64_t kMaxGroup = 128;

int clamped(float value, int low, int high) {
  return std::clamp(static_cast<int>(std::nearbyint(value)), low, high);
}

bool quantize_int8(const ConstRows& weight, int64_t r, int64_t in, float scale, int8_t* q) {
  const float inverse = scale == 0 ? 0.0F : 1.0F / scale;
  bool finite = std::isfinite(scale);
  for (int64_t i = 0; i < in && finite; ++i) {
    const float w = element(weight, r, i);
    finite = std::isfinite(w);
    if (finite) q[i] = static_cast<int8_t>(clamped(w * inverse, -127, 127));
  }
  return finite;
}

float square_error(const float* w, int64_t count, float scale) {
  const float inverse = 1.0F / scale;
  float error = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float off = w[i] - scale * std::clamp(std::nearbyint(w[i] * inverse), -8.0F, 7.0F);
    error += off * off;
  }
  return error;
}

// The scale of a group: the element that is largest in magnitude becomes -8 (which uses all sixteen values), or the range is
// made a little smaller, which rounds the many small weights less; whatever is best.
float int4_scale(const float* w, int64_t count) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (std::abs(w[i]) > std::abs(largest)) largest = w[i];
  }
  // Too small to divide by: zeros.
  if (std::abs(largest) < 1e-30F) return 0;
  float best = 0, least = INFINITY;
  for (float steps : {-8.0F, -8.5F, -9.0F, -9.5F, 7.0F, 7.5F}) {
    const float scale = bfloat16_to_float(float_to_bfloat16(largest / steps));
    const float error = square_error(w, count, scale);
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

bool quantize_int4(const ConstRows& weight, int64_t r, int64_t in, int64_t group, uint16_t* scales, uint8_t* q) {
  float w[kMaxGroup];
  for (int64_t begin = 0; begin < in; begin += group) {
    for (int64_t i = 0; i < group; ++i) {
      w[i] = element(weight, r, begin + i);
      if (!std::isfinite(w[i])) return false;
    }
    const float scale = int4_scale(w, group), inverse = scale == 0 ? 0.0F : 1.0F / scale;
    scales[begin / group] = float_to_bfloat16(scale);
    for (int64_t i = 0; i < group; i += 2) {
      const int low = clamped(w[i] * inverse, -8, 7) + 8, high = clamped(w[i + 1] * inverse, -8, 7) + 8;
      q[(begin + i) / 2] = static_cast<uint8_t>(low | (high << 4));
    }
  }
  return true;
}

}  // namespace

int64_t quantized_row_bytes(WeightFormat format, int64_t in) {
  return in * bits(format) / 8;
}

int64_t scales_per_row(WeightFormat format, int64_t in) {
  return format == WeightFormat::kInt8 ? 1 : in / group_size(format);
}

uint16_t int8_scale(const ConstRows& weight, int64_t r, int64_t in) {
  float largest = 0;
  for (int64_t i = 0; i < in; ++i) {
    const float size = std::abs(element(weight, r, i));
    if (!(size <= largest)) largest = size;  // keeps a NaN
    if (std::isnan(largest)) break;
  }
  if (!std::isfinite(largest)) return float_to_bfloat16(NAN);
  return largest < 1e-30F ? uint16_t{0} : float_to_bfloat16(largest / 127.0F);
}

bool quantize_row(const ConstRows& weight, int64_t r, int64_t in, WeightFormat format, uint16_t* scales, void* q) {
  if (format == WeightFormat::kInt8) return quantize_int8(weight, r, in, bfloat16_to_float(*scales), static_cast<int8_t*>(q));
  return quantize_int4(weight, r, in, group_size(format), scales, static_cast<uint8_t*>(q));
}

}  // namespace tp::cpu
