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

// What the integers nearest to w / scale, from -8 to 7, make of a group. The loops are written for the compiler to do in
// vectors.
struct Fit {
  float error = 0;                  // sum of squares
  float products = 0, squares = 0;  // sum of w * q, and of q * q
};

Fit fit_of(const float* w, int64_t count, float scale) {
  constexpr int kLanes = 8;
  // Adding and taking off 1.5 * 2^23 rounds to a whole number, half to even.
  constexpr float kRound = 12582912.0F;
  const float inverse = 1.0F / scale;
  float error[kLanes] = {}, products[kLanes] = {}, squares[kLanes] = {};
  for (int64_t i = 0; i < count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const float x = w[i + lane] * inverse, high = x < 7.0F ? x : 7.0F, bounded = high > -8.0F ? high : -8.0F;
      const float q = (bounded + kRound) - kRound, off = w[i + lane] - scale * q;
      error[lane] += off * off;
      products[lane] += w[i + lane] * q;
      squares[lane] += q * q;
    }
  }
  Fit fit;
  for (int lane = 0; lane < kLanes; ++lane) {
    fit.error += error[lane];
    fit.products += products[lane];
    fit.squares += squares[lane];
  }
  return fit;
}

// Where the element that is largest in magnitude comes to lie. From -8 on the range is made smaller than what it has to hold,
// which rounds the many small weights less; below, the largest weights are cut off.
constexpr float kSteps[] = {-7.0F, -7.25F, -7.5F, -7.75F, -8.0F, -8.25F, -8.5F, -8.75F, -9.0F, -9.25F, -9.5F,
                            6.0F,  6.25F,  6.5F,  6.75F,  7.0F,  7.25F,  7.5F,  7.75F,  8.0F,  8.25F,  8.5F};
// How often the scale is then moved to where it fits the integers that it gave best.
constexpr int kRefinements = 3;

// The scale of a group in bfloat16 that leaves the least square error.
float int4_scale(const float* w, int64_t count) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (std::abs(w[i]) > std::abs(largest)) largest = w[i];
  }
  // Too small to divide by: zeros.
  if (std::abs(largest) < 1e-30F) return 0;
  float best = 0;
  Fit least{INFINITY};
  const auto attempt = [&](float wanted) {
    const float scale = bfloat16_to_float(float_to_bfloat16(wanted));
    if (std::abs(scale) < 1e-32F) return;
    const Fit fit = fit_of(w, count, scale);
    if (!(fit.error < least.error)) return;
    least = fit;
    best = scale;
  };
  for (float steps : kSteps) attempt(largest / steps);
  for (int i = 0; i < kRefinements && least.squares > 0; ++i) attempt(least.products / least.squares);
  return best;
}

// A group that the row's end cuts short is searched with zeros behind it, which every scale has.
bool quantize_int4(const ConstRows& weight, int64_t r, int64_t in, int64_t group, uint16_t* scales, uint8_t* q) {
  float w[kMaxGroup];
  for (int64_t begin = 0; begin < in; begin += group) {
    const int64_t count = std::min(group, in - begin);
    std::fill(w + count, w + group, 0.0F);
    for (int64_t i = 0; i < count; ++i) {
      w[i] = element(weight, r, begin + i);
      if (!std::isfinite(w[i])) return false;
    }
    const float scale = int4_scale(w, group), inverse = scale == 0 ? 0.0F : 1.0F / scale;
    scales[begin / group] = float_to_bfloat16(scale);
    for (int64_t i = 0; i < count; i += 2) {
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
  return format == WeightFormat::kInt8 ? 1 : (in + group_size(format) - 1) / group_size(format);
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
