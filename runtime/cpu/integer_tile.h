#pragma once

// Tile kernels for integer weights and rows that are quantized too, over a type I (integer_<isa>.cc) with
//   Vector               the floats that go with it (vector_<isa>.h)
//   V, load, broadcast   a vector of kLanes words of four bytes, from memory and from one word
//   kLayout              how the rows are packed for weights in kInt8: kInt8, or kUInt8 where one factor must be unsigned
//   weights              from int8 weights to what dot takes
//   dot                  adds the products of four bytes to each lane
//   low, high            the nibbles of a vector as bytes: inputs 0, 2, 4, 6 and 1, 3, 5, 7
//   dot_nibbles, total   the same for nibbles, at most 8 times; their sums in 32 bits
// The integers are exact, so every path gives the same ones. See matmul_tile.h for what such a file must not do.

#include "runtime/cpu/matmul_tile.h"

namespace tp::cpu {
namespace {

// Inputs of nibbles that are summed in integers before a scale comes in.
constexpr int64_t kNibbleRun = 32;

template <class I, int kRows, int kPanels>
struct IntegerSums {
  static constexpr int kVecs = static_cast<int>(kPanel) / I::Vector::kLanes;
  typename I::V v[kRows][kPanels][kVecs];

  inline __attribute__((always_inline)) void clear() {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
        for (int i = 0; i < kVecs; ++i) v[r][p][i] = I::zero();
      }
    }
  }
};

// y += sum of x q; the sums of a block are below 2^24, so they are exact in float32 too.
template <class I, int kRows, int kPanels>
void integer_tile(const TileArgs& args) {
  using Sums = IntegerSums<I, kRows, kPanels>;
  using Vector = typename I::Vector;
  constexpr bool kOffset = I::kLayout == XLayout::kUInt8;
  constexpr int kStepBytes = 64;
  Sums sums;
  sums.clear();
  IntegerSums<I, 1, kPanels> ones;  // kOffset: sums of the weights alone
  ones.clear();
  const Ahead ahead = ahead_of(args, args.in * kPanel);
  const std::byte *w = args.weights, *next = ahead.from, *x = static_cast<const std::byte*>(args.x);
#pragma GCC unroll 1
  for (int64_t k = 0; k < args.in; k += 4, w += kStepBytes, x += 4 * kRows) {
    if constexpr (kRows <= 4) {
#pragma GCC unroll 16
      for (int p = 0; p < kPanels; ++p) __builtin_prefetch(next + p * args.panel_stride_bytes);
      next += kStepBytes / ahead.divisor;
    }
    typename I::Weights weights[kPanels][Sums::kVecs];
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int i = 0; i < Sums::kVecs; ++i) {
        weights[p][i] = I::weights(I::load(w + p * args.panel_stride_bytes + i * Vector::kLanes * 4));
        if constexpr (kOffset) ones.v[0][p][i] = I::dot(ones.v[0][p][i], weights[p][i], I::set(0x01010101));
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const typename I::V value = I::broadcast(x + 4 * r);
#pragma GCC unroll 16
      for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
        for (int i = 0; i < Sums::kVecs; ++i) sums.v[r][p][i] = I::dot(sums.v[r][p][i], weights[p][i], value);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int i = 0; i < Sums::kVecs; ++i) {
        typename I::V sum = sums.v[r][p][i];
        if constexpr (kOffset) sum = I::less_128_times(sum, ones.v[0][p][i]);
        float* y = args.y + r * args.y_stride + p * kPanel + i * Vector::kLanes;
        Vector::store(y, Vector::add(Vector::load(y), I::to_float(sum)));
      }
    }
  }
}

// One half of the nibbles of a step: sums += q x.
template <class I, bool kHigh, int kRows, int kPanels>
inline __attribute__((always_inline)) void nibble_step(IntegerSums<I, kRows, kPanels>& sums, const std::byte* w, int64_t stride,
                                                       const std::byte* x) {
  constexpr int kVecs = IntegerSums<I, kRows, kPanels>::kVecs;
  typename I::V weights[kPanels][kVecs];
#pragma GCC unroll 16
  for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
    for (int i = 0; i < kVecs; ++i) {
      const typename I::V both = I::load(w + p * stride + i * I::Vector::kLanes * 4);
      weights[p][i] = kHigh ? I::high(both) : I::low(both);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const typename I::V value = I::broadcast(x + 4 * r);
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int i = 0; i < kVecs; ++i) sums.v[r][p][i] = I::dot_nibbles(sums.v[r][p][i], weights[p][i], value);
    }
  }
}

// y += scale * (sum of q x - zero * sum of x) for each run of inputs; both differences are whole numbers below 2^24.
template <class I, int64_t kGroup, int kRows, int kPanels>
void integer_tile_int4(const TileArgs& args) {
  using Sums = IntegerSums<I, kRows, kPanels>;
  using Vector = typename I::Vector;
  constexpr int kStepBytes = 64;
  const Ahead ahead = ahead_of(args, args.in * kPanel / 2);
  const std::byte *w = args.weights, *next = ahead.from, *x = static_cast<const std::byte*>(args.x);
  for (int64_t run = 0; run < args.in / kNibbleRun; ++run) {
    Sums sums;
    sums.clear();
#pragma GCC unroll 1
    for (int64_t k = 0; k < kNibbleRun; k += 8, w += kStepBytes, x += 8 * kRows) {
      if constexpr (kRows <= 4) {
#pragma GCC unroll 16
        for (int p = 0; p < kPanels; ++p) __builtin_prefetch(next + p * args.panel_stride_bytes);
        next += kStepBytes / ahead.divisor;
      }
      nibble_step<I, false>(sums, w, args.panel_stride_bytes, x);
      nibble_step<I, true>(sums, w, args.panel_stride_bytes, x + 4 * kRows);
    }
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int i = 0; i < Sums::kVecs; ++i) {
        const int64_t offset = p * args.scale_stride + run * kNibbleRun / kGroup * kPanel + i * Vector::kLanes;
        const typename Vector::F scale = load_scale<Vector>(args, offset);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const typename Vector::F start = first_sum<Vector>(args, offset, -args.x_sums[run * kRows + r]);
          float* y = args.y + r * args.y_stride + p * kPanel + i * Vector::kLanes;
          const typename Vector::F sum = Vector::add(I::to_float(I::total(sums.v[r][p][i])), start);
          Vector::store(y, Vector::fma(sum, scale, Vector::load(y)));
        }
      }
    }
  }
}

template <class I, int kRows, int kPanels>
TileFn integer_tile_of(WeightFormat format) {
  if (format == WeightFormat::kInt8) return integer_tile<I, kRows, kPanels>;
  if (format == WeightFormat::kInt4Group32) return integer_tile_int4<I, 32, kRows, kPanels>;
  if (format == WeightFormat::kInt4Group128) return integer_tile_int4<I, 128, kRows, kPanels>;
  return nullptr;
}

template <class I>
constexpr int max_integer_panels(int rows) {
  return rows <= I::kMaxRowsOfTwoPanels ? 2 : 1;
}

template <class I, int kRows>
TileFn integer_tile_from(WeightFormat format, int rows, int panels) {
  if (rows == kRows) {
    if constexpr (max_integer_panels<I>(kRows) == 2) {
      if (panels == 2) return integer_tile_of<I, kRows, 2>(format);
    }
    return integer_tile_of<I, kRows, 1>(format);
  }
  if constexpr (kRows < I::kMaxRows) return integer_tile_from<I, kRows + 1>(format, rows, panels);
  return nullptr;
}

template <class I>
constexpr MatmulPath integer_path_of(Isa isa) {
  return {isa,
          I::kLayout,
          I::kMaxRows,
          I::kMaxRows,
          max_integer_panels<I>,
          integer_tile_from<I, 1>,
          nullptr,
          finish<typename I::Vector>};
}

}  // namespace
}  // namespace tp::cpu
