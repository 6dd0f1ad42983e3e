#pragma once

// Bodies of row_kernels.h's loops of attention, over a vector type V; see vector_math.h for what such a file must not do.

#include "runtime/cpu/row_kernels.h"
#include "runtime/cpu/vector_math.h"

namespace tp::cpu {
namespace {

// Of a quantized cache the integers.
template <class V, DType kDType>
inline __attribute__((always_inline)) typename V::F read_cached(const void* data, int64_t i, int64_t n) {
  if constexpr (kDType == DType::kI8) {
    const int8_t* p = static_cast<const int8_t*>(data) + i;
    if (n == V::kLanes) return V::load_bytes(p);
    int8_t part[V::kLanes] = {};
    __builtin_memcpy(part, p, static_cast<size_t>(n));
    return V::load_bytes(part);
  } else {
    return read<V>(data, kDType, i, n);
  }
}

// out = q * scale.
template <class V>
void widen_bytes(const int8_t* q, int64_t count, float scale, float* out) {
  for_vectors<V>(
      count, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
        write<V>(out, DType::kF32, i, n, V::mul(read_cached<V, DType::kI8>(q, i, n), V::set(scale)));
      });
}

// Dot products of kQueries queries with kKeys keys: a key is read and widened once for all of them.
template <class V, DType kDType, int kQueries, int kKeys>
inline __attribute__((always_inline)) void score_block(const ScoreArgs& args, int64_t query, int64_t key) {
  typename V::F sums[kQueries][kKeys];
#pragma GCC unroll 8
  for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 8
    for (int j = 0; j < kKeys; ++j) sums[q][j] = V::zero();
  }
  for_vectors<V>(
      args.dim, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
        typename V::F k[kKeys];
#pragma GCC unroll 8
        for (int j = 0; j < kKeys; ++j) k[j] = read_cached<V, kDType>(args.k, (key + j) * args.dim + i, n);
#pragma GCC unroll 8
        for (int q = 0; q < kQueries; ++q) {
          const typename V::F value = read<V>(args.q, DType::kF32, (query + q) * args.dim + i, n);
#pragma GCC unroll 8
          for (int j = 0; j < kKeys; ++j) sums[q][j] = V::fma(value, k[j], sums[q][j]);
        }
      });
  for (int q = 0; q < kQueries; ++q) {
    for (int j = 0; j < kKeys; ++j) args.scores[(query + q) * args.stride + key + j] = V::sum(sums[q][j]);
  }
}

template <class V, DType kDType, int kQueries>
void score_queries(const ScoreArgs& args, int64_t query) {
  int64_t key = 0;
  for (; key + 4 <= args.keys; key += 4) score_block<V, kDType, kQueries, 4>(args, query, key);
  for (; key < args.keys; ++key) score_block<V, kDType, kQueries, 1>(args, query, key);
}

template <class V, DType kDType>
void score_all(const ScoreArgs& args) {
  int64_t query = 0;
  for (; query + 2 <= args.group; query += 2) score_queries<V, kDType, 2>(args, query);
  if (query < args.group) score_queries<V, kDType, 1>(args, query);
}

template <class V>
void score(const ScoreArgs& args) {
  if (args.dtype == DType::kBF16) return score_all<V, DType::kBF16>(args);
  if (args.dtype == DType::kF16) return score_all<V, DType::kF16>(args);
  if (args.dtype == DType::kI8) return score_all<V, DType::kI8>(args);
  score_all<V, DType::kF32>(args);
}

template <class V>
typename V::F scaled(typename V::F x, float scale, float softcap) {
  x = V::mul(x, V::set(scale));
  return softcap == 0 ? x : V::mul(tanh<V>(V::div(x, V::set(softcap))), V::set(softcap));
}

template <class V>
SoftmaxPart softmax(float* scores, int64_t count, float scale, float softcap) {
  typename V::F most = V::set(-3.0e38F);
  for_vectors<V>(
      count, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
        const typename V::F x = scaled<V>(read<V>(scores, DType::kF32, i, n), scale, softcap);
        write<V>(scores, DType::kF32, i, n, x);
        if (n == V::kLanes) most = V::max(most, x);
      });
  float max = V::largest(most);
  for (int64_t i = count / V::kLanes * V::kLanes; i < count; ++i) max = max > scores[i] ? max : scores[i];
  typename V::F sum = V::zero();
  float rest = 0;
  for_vectors<V>(
      count, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
        const typename V::F x = exp<V>(V::sub(read<V>(scores, DType::kF32, i, n), V::set(max)));
        write<V>(scores, DType::kF32, i, n, x);
        if (n == V::kLanes) {
          sum = V::add(sum, x);
        } else {
          for (int64_t j = i; j < count; ++j) rest += scores[j];
        }
      });
  return {max, V::sum(sum) + rest};
}

// kVecs vectors of features of two queries at most: the values pass once.
template <class V, DType kDType, int kQueries, int kVecs>
inline __attribute__((always_inline)) void mix_block(const MixArgs& args, int64_t query, int64_t feature, int64_t last) {
  typename V::F sums[kQueries][kVecs];
#pragma GCC unroll 8
  for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) sums[q][v] = V::zero();
  }
  for (int64_t j = 0; j < args.keys; ++j) {
    typename V::F values[kVecs];
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) {
      values[v] = read_cached<V, kDType>(args.v, j * args.dim + feature + v * V::kLanes, v + 1 == kVecs ? last : V::kLanes);
    }
#pragma GCC unroll 8
    for (int q = 0; q < kQueries; ++q) {
      const typename V::F weight = V::broadcast(args.scores + (query + q) * args.stride + j);
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) sums[q][v] = V::fma(weight, values[v], sums[q][v]);
    }
  }
  for (int q = 0; q < kQueries; ++q) {
    for (int v = 0; v < kVecs; ++v) {
      write<V>(args.out, DType::kF32, (query + q) * args.dim + feature + v * V::kLanes, v + 1 == kVecs ? last : V::kLanes,
               sums[q][v]);
    }
  }
}

template <class V, DType kDType, int kQueries>
void mix_queries(const MixArgs& args, int64_t query) {
  int64_t feature = 0;
  for (; feature + 4 * V::kLanes <= args.dim; feature += 4 * V::kLanes) {
    mix_block<V, kDType, kQueries, 4>(args, query, feature, V::kLanes);
  }
  for (; feature + V::kLanes <= args.dim; feature += V::kLanes)
    mix_block<V, kDType, kQueries, 1>(args, query, feature, V::kLanes);
  if (feature < args.dim) mix_block<V, kDType, kQueries, 1>(args, query, feature, args.dim - feature);
}

template <class V, DType kDType>
void mix_all(const MixArgs& args) {
  int64_t query = 0;
  for (; query + 2 <= args.group; query += 2) mix_queries<V, kDType, 2>(args, query);
  if (query < args.group) mix_queries<V, kDType, 1>(args, query);
}

template <class V>
void mix(const MixArgs& args) {
  if (args.dtype == DType::kBF16) return mix_all<V, DType::kBF16>(args);
  if (args.dtype == DType::kF16) return mix_all<V, DType::kF16>(args);
  if (args.dtype == DType::kI8) return mix_all<V, DType::kI8>(args);
  mix_all<V, DType::kF32>(args);
}

// Each lane is a query, so that maxima and sums over the keys need no step across lanes.
template <class V>
void block_softmax(const BlockSoftmaxArgs& args) {
  for (int64_t lane = 0; lane < args.lanes; lane += V::kLanes) {
    alignas(64) float first[V::kLanes], end[V::kLanes];
    for (int i = 0; i < V::kLanes; ++i) {
      first[i] = static_cast<float>(args.first_key[lane + i]);
      end[i] = static_cast<float>(args.end_key[lane + i]);
    }
    const typename V::F begin = V::load(first), stop = V::load(end), hidden = V::set(-3.0e38F);
    typename V::F most = V::load(args.max + lane);
    for (int64_t j = 0; j < args.keys; ++j) {
      float* p = args.scores + j * args.lanes + lane;
      const typename V::F key = V::set(static_cast<float>(j));
      typename V::F x = scaled<V>(V::load(p), args.scale, args.softcap);
      x = V::select_less(key, begin, hidden, V::select_less(key, stop, x, hidden));
      V::store(p, x);
      most = V::max(most, x);
    }
    const typename V::F shrink = exp<V>(V::sub(V::load(args.max + lane), most));
    typename V::F sum = V::mul(V::load(args.sum + lane), shrink);
    for (int64_t j = 0; j < args.keys; ++j) {
      float* p = args.scores + j * args.lanes + lane;
      const typename V::F x = exp<V>(V::sub(V::load(p), most));
      V::store(p, x);
      sum = V::add(sum, x);
    }
    V::store(args.max + lane, most);
    V::store(args.sum + lane, sum);
    V::store(args.shrink + lane, shrink);
  }
}

template <class V>
void scale_rows(const ScaleRowsArgs& args) {
  for (int64_t r = 0; r < args.rows; ++r) {
    const typename V::F factor = V::set(args.factor[r]);
    float* row = args.x + r * args.stride;
    for_vectors<V>(
        args.count, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
          write<V>(row, DType::kF32, i, n, V::mul(read<V>(row, DType::kF32, i, n), factor));
        });
  }
}

template <class V, int kRows>
void strided_tile_of(const StridedTileArgs& args, int64_t row) {
  constexpr int kVecs = 16 / V::kLanes;
  typename V::F sums[kRows][kVecs];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) sums[r][v] = V::zero();
  }
  const float* x = args.x + row * args.row_stride;
  const float* w = args.w;
  for (int64_t i = 0; i < args.in; ++i, w += 16, x += args.in_stride) {
    typename V::F weights[kVecs];
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) weights[v] = V::load(w + v * V::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const typename V::F value = V::broadcast(x + r * args.row_stride);
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) sums[r][v] = V::fma(weights[v], value, sums[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) {
      float* y = args.y + (row + r) * args.y_stride + v * V::kLanes;
      V::store(y, V::add(V::load(y), sums[r][v]));
    }
  }
}

template <class V>
void strided_tile(const StridedTileArgs& args) {
  int64_t row = 0;
  for (; row + V::kMaxRows <= args.rows; row += V::kMaxRows) strided_tile_of<V, V::kMaxRows>(args, row);
  for (; row + 4 <= args.rows; row += 4) strided_tile_of<V, 4>(args, row);
  for (; row < args.rows; ++row) strided_tile_of<V, 1>(args, row);
}

}  // namespace
}  // namespace tp::cpu
