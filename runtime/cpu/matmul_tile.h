#pragma once

// The tile kernels, written once over a vector type V and compiled by each matmul_<isa>.cc with its own flags. Everything here
// has internal linkage and uses no inline function of the standard library: a copy compiled for AVX-512 must never be the one
// that the linker keeps for everybody.

#include "runtime/cpu/matmul_path.h"

namespace tp::cpu {
namespace {

// Sub-step S of a step: the weights of input k + S for the outputs of vector v.
struct FormatF32 {
  static constexpr int kStep = 1, kStepBytes = 64;
  template <class V, int S>
  static typename V::F load(const std::byte* p, int v) {
    return V::load(reinterpret_cast<const float*>(p) + v * V::kLanes);
  }
};
struct FormatF16 {
  static constexpr int kStep = 1, kStepBytes = 32;
  template <class V, int S>
  static typename V::F load(const std::byte* p, int v) {
    return V::load_f16(reinterpret_cast<const uint16_t*>(p) + v * V::kLanes);
  }
};
struct FormatBF16 {
  static constexpr int kStep = 2, kStepBytes = 64;
  template <class V, int S>
  static typename V::F load(const std::byte* p, int v) {
    const uint32_t* pairs = reinterpret_cast<const uint32_t*>(p) + v * V::kLanes;
    if constexpr (S == 0) return V::load_low_bf16(pairs);
    if constexpr (S == 1) return V::load_high_bf16(pairs);
  }
};
struct FormatInt8 {
  static constexpr int kStep = 4, kStepBytes = 64;
  template <class V, int S>
  static typename V::F load(const std::byte* p, int v) {
    return V::template load_int8<S>(reinterpret_cast<const uint32_t*>(p) + v * V::kLanes);
  }
};
// Nibbles are not shifted down: q * 16^S is exact in float32, and x was multiplied by 16^-S when it was packed. The top one
// (S = 7) would not fit a signed integer and is shifted.
struct FormatInt4 {
  static constexpr int kStep = 8, kStepBytes = 64;
  template <class V, int S>
  static typename V::F load(const std::byte* p, int v) {
    return V::template load_nibble<S>(reinterpret_cast<const uint32_t*>(p) + v * V::kLanes);
  }
};

template <class V, int kRows, int kPanels>
struct Accumulators {
  static constexpr int kVecs = static_cast<int>(kPanel) / V::kLanes;
  typename V::F f[kRows][kPanels][kVecs];
};

// One sub-step and the ones after it: acc += x[k + S] * w[k + S].
template <class V, class Format, int S, int kRows, int kPanels>
inline __attribute__((always_inline)) void sub_steps(Accumulators<V, kRows, kPanels>& acc, const std::byte* w, int64_t stride,
                                                     const float* x) {
  constexpr int kVecs = Accumulators<V, kRows, kPanels>::kVecs;
  typename V::F weights[kPanels][kVecs];
#pragma GCC unroll 16
  for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) weights[p][v] = Format::template load<V, S>(w + p * stride, v);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const typename V::F value = V::broadcast(x + S * kRows + r);
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) acc.f[r][p][v] = V::fma(weights[p][v], value, acc.f[r][p][v]);
    }
  }
  if constexpr (S + 1 < Format::kStep) sub_steps<V, Format, S + 1, kRows, kPanels>(acc, w, stride, x);
}

// Where weights are fetched from memory while others are used. Of a single pass: far enough ahead for the latency of memory,
// near enough to stay in the first cache. Of several passes over a block each fetches its part of the next block, which
// follows.
struct Ahead {
  const std::byte* from;
  int64_t divisor;
};
constexpr int64_t kPrefetchBytes = 1536;

inline Ahead ahead_of(const TileArgs& args, int64_t block_bytes) {
  if (args.passes == 1) return {args.weights + kPrefetchBytes, 1};
  return {args.weights + block_bytes + args.pass * block_bytes / args.passes, args.passes};
}

template <class V, class Format, int kRows, int kPanels>
inline __attribute__((always_inline)) void steps(Accumulators<V, kRows, kPanels>& acc, const std::byte* w, int64_t stride,
                                                 const float* x, int64_t in, const std::byte* ahead, int64_t ahead_step) {
  for (int64_t k = 0; k < in; k += Format::kStep) {
    if constexpr (kRows <= 4) {
#pragma GCC unroll 16
      for (int p = 0; p < kPanels; ++p) __builtin_prefetch(ahead + p * stride);
      ahead += ahead_step;
    }
    sub_steps<V, Format, 0, kRows, kPanels>(acc, w, stride, x);
    w += Format::kStepBytes;
    x += Format::kStep * kRows;
  }
}

template <class V, class Format, int kRows, int kPanels>
void tile(const TileArgs& args) {
  using Acc = Accumulators<V, kRows, kPanels>;
  Acc acc;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < Acc::kVecs; ++v) acc.f[r][p][v] = V::zero();
    }
  }
  const Ahead ahead = ahead_of(args, args.in / Format::kStep * Format::kStepBytes);
  steps<V, Format, kRows, kPanels>(acc, args.weights, args.panel_stride_bytes, static_cast<const float*>(args.x), args.in,
                                   ahead.from, Format::kStepBytes / ahead.divisor);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < Acc::kVecs; ++v) {
        float* y = args.y + r * args.y_stride + p * kPanel + v * V::kLanes;
        V::store(y, V::add(V::load(y), acc.f[r][p][v]));
      }
    }
  }
}

template <class V>
inline __attribute__((always_inline)) typename V::F load_scale(const TileArgs& args, int64_t offset) {
  return args.scales_f16 ? V::load_f16(args.scales + offset) : V::load_bf16(args.scales + offset);
}

// The zero points of a group times `less`, minus its sum of x.
template <class V>
inline __attribute__((always_inline)) typename V::F first_sum(const TileArgs& args, int64_t offset, float less) {
  const float eight = 8.0F * less;
  if (args.zeros == nullptr) return V::broadcast(&eight);
  return V::mul(V::load_bf16(args.zeros + offset), V::broadcast(&less));
}

// Sum over a group of (q - zero) x = sum of q x - zero * sum of x: the second part is where the accumulators start.
template <class V, int kGroup, int kRows, int kPanels>
void tile_int4(const TileArgs& args) {
  using Acc = Accumulators<V, kRows, kPanels>;
  const float* x = static_cast<const float*>(args.x);
  const Ahead ahead = ahead_of(args, args.in * kPanel / 2);
  for (int64_t group = 0; group < args.in / kGroup; ++group) {
    Acc acc;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const float less = -args.x_sums[group * kRows + r];
#pragma GCC unroll 16
      for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
        for (int v = 0; v < Acc::kVecs; ++v)
          acc.f[r][p][v] = first_sum<V>(args, p * args.scale_stride + group * kPanel + v * V::kLanes, less);
      }
    }
    const int64_t done = group * kGroup * kPanel / 2;
    steps<V, FormatInt4, kRows, kPanels>(acc, args.weights + done, args.panel_stride_bytes, x + group * kGroup * kRows, kGroup,
                                         ahead.from + done / ahead.divisor, FormatInt4::kStepBytes / ahead.divisor);
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < Acc::kVecs; ++v) {
        const typename V::F scale = load_scale<V>(args, p * args.scale_stride + group * kPanel + v * V::kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          float* y = args.y + r * args.y_stride + p * kPanel + v * V::kLanes;
          V::store(y, V::fma(acc.f[r][p][v], scale, V::load(y)));
        }
      }
    }
  }
}

template <class V, class Format, int S>
inline __attribute__((always_inline)) void widen_sub_steps(const std::byte* w, float* out) {
  for (int v = 0; v < static_cast<int>(kPanel) / V::kLanes; ++v) {
    V::store(out + S * kPanel + v * V::kLanes, Format::template load<V, S>(w, v));
  }
  if constexpr (S + 1 < Format::kStep) widen_sub_steps<V, Format, S + 1>(w, out);
}

template <class V, class Format>
void widen(const TileArgs& args, float* out) {
  const std::byte* w = args.weights;
  for (int64_t k = 0; k < args.in; k += Format::kStep, w += Format::kStepBytes) {
    widen_sub_steps<V, Format, 0>(w, out + k * kPanel);
  }
}

template <class V, int kGroup>
void widen_int4(const TileArgs& args, float* out) {
  widen<V, FormatInt4>(args, out);
  for (int64_t k = 0; k < args.in; ++k) {
    const float place = static_cast<float>(k % 8 == 7 ? 1 : 1 << (4 * (k % 8)));
    const float down = 1.0F / place, eight = 8.0F;
    for (int v = 0; v < static_cast<int>(kPanel) / V::kLanes; ++v) {
      float* p = out + k * kPanel + v * V::kLanes;
      const int64_t offset = k / kGroup * kPanel + v * V::kLanes;
      const typename V::F zero = args.zeros != nullptr ? V::load_bf16(args.zeros + offset) : V::broadcast(&eight);
      const typename V::F q = V::sub(V::mul(V::load(p), V::broadcast(&down)), zero);
      V::store(p, V::mul(q, load_scale<V>(args, offset)));
    }
  }
}

template <class V>
void finish(const FinishArgs& args) {
  alignas(64) float last[16];
  for (int64_t i = 0; i < args.count; i += V::kLanes) {
    const int64_t n = args.count - i < V::kLanes ? args.count - i : V::kLanes;
    const float one = 1.0F, none = 0.0F;
    // y, scale and bias are padded to whole panels, only `out` ends at count.
    const typename V::F scale = args.scale != nullptr ? V::load(args.scale + i) : V::broadcast(&one);
    const typename V::F bias = args.bias != nullptr ? V::load(args.bias + i) : V::broadcast(&none);
    const typename V::F value = V::fma(V::mul(V::load(args.y + i), V::broadcast(&args.row_scale)), scale, bias);
    const bool whole = n == V::kLanes;
    if (args.dtype == DType::kF32) {
      float* out = static_cast<float*>(args.out) + i;
      V::store(whole ? out : last, value);
      if (!whole) __builtin_memcpy(out, last, static_cast<size_t>(n) * sizeof(float));
      continue;
    }
    uint16_t* out = static_cast<uint16_t*>(args.out) + i;
    uint16_t* target = whole ? out : reinterpret_cast<uint16_t*>(last);
    if (args.dtype == DType::kBF16) {
      V::store_bf16(target, value);
    } else {
      V::store_f16(target, value);
    }
    if (!whole) __builtin_memcpy(out, last, static_cast<size_t>(n) * sizeof(uint16_t));
  }
}

template <class V, int kRows, int kPanels>
TileFn tile_of(WeightFormat format) {
  if (format == WeightFormat::kF32) return tile<V, FormatF32, kRows, kPanels>;
  if constexpr (kRows <= V::kMaxNarrowRows) {
    if (format == WeightFormat::kF16) return tile<V, FormatF16, kRows, kPanels>;
    if (format == WeightFormat::kBF16) return tile<V, FormatBF16, kRows, kPanels>;
    if (format == WeightFormat::kInt8) return tile<V, FormatInt8, kRows, kPanels>;
    if (format == WeightFormat::kInt4Group32) return tile_int4<V, 32, kRows, kPanels>;
    if (format == WeightFormat::kInt4Group128) return tile_int4<V, 128, kRows, kPanels>;
  }
  return nullptr;
}

template <class V>
constexpr int max_panels(int rows) {
  return rows <= V::kMaxRowsOfTwoPanels ? 2 : 1;
}

template <class V, int kRows>
TileFn tile_from(WeightFormat format, int rows, int panels) {
  if (rows == kRows) {
    if constexpr (max_panels<V>(kRows) == 2) {
      if (panels == 2) return tile_of<V, kRows, 2>(format);
    }
    return tile_of<V, kRows, 1>(format);
  }
  if constexpr (kRows < V::kMaxRows) return tile_from<V, kRows + 1>(format, rows, panels);
  return nullptr;
}

template <class V>
WidenFn widen_from(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return widen<V, FormatF32>;
    case WeightFormat::kF16:
      return widen<V, FormatF16>;
    case WeightFormat::kBF16:
      return widen<V, FormatBF16>;
    case WeightFormat::kInt8:
      return widen<V, FormatInt8>;
    case WeightFormat::kInt4Group32:
      return widen_int4<V, 32>;
    case WeightFormat::kInt4Group128:
      return widen_int4<V, 128>;
  }
  return nullptr;
}

template <class V>
constexpr MatmulPath path_of(Isa isa) {
  return {isa, XLayout::kF32, V::kMaxRows, V::kMaxNarrowRows, max_panels<V>, tile_from<V, 1>, widen_from<V>, finish<V>};
}

}  // namespace
}  // namespace tp::cpu
