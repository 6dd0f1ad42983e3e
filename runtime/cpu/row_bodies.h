#pragma once

// Bodies of row_kernels.h's loops over rows, over a vector type V; see vector_math.h for what such a file must not do.

#include "runtime/cpu/row_kernels.h"
#include "runtime/cpu/vector_math.h"

namespace tp::cpu {
namespace {

// Sum of (x - mean)^2, or of x where kSquares is false.
template <class V, bool kSquares>
float power_sum(const NormArgs& args, int64_t begin, float mean) {
  typename V::F sum = V::zero();
  for_vectors<V>(
      args.size, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
        typename V::F x = read<V>(args.x, args.x_dtype, begin + i, n);
        if constexpr (!kSquares) {
          sum = V::add(sum, x);
          return;
        }
        if (n == V::kLanes) {
          x = V::sub(x, V::set(mean));
        } else {  // lanes beyond the end must stay 0
          float lanes[V::kLanes] = {}, kept[V::kLanes] = {};
          V::store(lanes, V::sub(x, V::set(mean)));
          for (int64_t lane = 0; lane < n; ++lane) kept[lane] = lanes[lane];
          x = V::load(kept);
        }
        sum = V::fma(x, x, sum);
      });
  return V::sum(sum);
}

template <class V>
void norm(const NormArgs& args) {
  const float count = static_cast<float>(args.size);
  const bool one_plus = args.kind == NormKind::kRmsOnePlus || args.kind == NormKind::kLayerNormOnePlus;
  const bool centred = args.kind == NormKind::kLayerNorm || args.kind == NormKind::kLayerNormOnePlus;
  const float offset = one_plus ? 1.0F : 0.0F;
  for (int64_t group = 0; group < args.groups; ++group) {
    const int64_t begin = group * args.size;
    const float mean = centred ? power_sum<V, false>(args, begin, 0) / count : 0.0F;
    const float inverse = 1.0F / __builtin_sqrtf(power_sum<V, true>(args, begin, mean) / count + args.eps);
    for_vectors<V>(
        args.size, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
          typename V::F x = V::mul(V::sub(read<V>(args.x, args.x_dtype, begin + i, n), V::set(mean)), V::set(inverse));
          const int64_t at = group * args.weight_stride + i;
          if (args.weight != nullptr) x = V::mul(x, V::add(read<V>(args.weight, DType::kF32, at, n), V::set(offset)));
          if (args.bias != nullptr) x = V::add(x, read<V>(args.bias, DType::kF32, at, n));
          write<V>(args.out, args.out_dtype, begin + i, n, x);
        });
  }
}

template <class V>
void rope(const RopeArgs& args) {
  const int64_t half = args.rotary_dim / 2;
  for (int64_t head = 0; head < args.heads; ++head) {
    const int64_t begin = head * args.head_dim;
    if (args.layout == RopeLayout::kHalf) {
      for_vectors<V>(
          half, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
            const typename V::F a = read<V>(args.x, args.x_dtype, begin + i, n),
                                b = read<V>(args.x, args.x_dtype, begin + half + i, n);
            const typename V::F cos = read<V>(args.cos, DType::kF32, i, n), sin = read<V>(args.sin, DType::kF32, i, n);
            write<V>(args.out, args.out_dtype, begin + i, n, V::sub(V::mul(a, cos), V::mul(b, sin)));
            write<V>(args.out, args.out_dtype, begin + half + i, n, V::add(V::mul(b, cos), V::mul(a, sin)));
          });
    } else {
      constexpr int kHalfLanes = V::kLanes / 2;
      for (int64_t i = 0; i < half; i += kHalfLanes) {
        const int64_t pairs = half - i < kHalfLanes ? half - i : kHalfLanes;
        float x[V::kLanes], turned[V::kLanes];
        V::store(x, read<V>(args.x, args.x_dtype, begin + 2 * i, 2 * pairs));
        for (int64_t p = 0; p < pairs; ++p) {
          const float cos = args.cos[i + p], sin = args.sin[i + p];
          turned[2 * p] = x[2 * p] * cos - x[2 * p + 1] * sin;
          turned[2 * p + 1] = x[2 * p + 1] * cos + x[2 * p] * sin;
        }
        for (int64_t lane = 2 * pairs; lane < V::kLanes; ++lane) turned[lane] = 0;
        write<V>(args.out, args.out_dtype, begin + 2 * i, 2 * pairs, V::load(turned));
      }
    }
    const int64_t passed = begin + args.rotary_dim;
    for_vectors<V>(
        args.head_dim - args.rotary_dim, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
          write<V>(args.out, args.out_dtype, passed + i, n, read<V>(args.x, args.x_dtype, passed + i, n));
        });
  }
}

template <class V>
typename V::F sigmoid(typename V::F x) {
  return V::div(V::set(1.0F), V::add(V::set(1.0F), exp<V>(V::sub(V::zero(), x))));
}

template <class V>
typename V::F activated(typename V::F x, Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return V::div(x, V::add(V::set(1.0F), exp<V>(V::sub(V::zero(), x))));
    case Activation::kGelu: {
      const typename V::F half = V::mul(x, V::set(0.5F));
      return V::fma(half, erf<V>(V::mul(x, V::set(0.70710678118654752F))), half);
    }
    case Activation::kGeluTanh: {
      const typename V::F half = V::mul(x, V::set(0.5F)), cubic = V::mul(V::mul(x, x), x);
      const typename V::F inner = V::mul(V::set(0.79788456080286536F), V::fma(cubic, V::set(0.044715F), x));
      return V::fma(half, tanh<V>(inner), half);
    }
    case Activation::kRelu:
      return V::max(V::zero(), x);
    case Activation::kRelu2: {
      const typename V::F positive = V::max(V::zero(), x);
      return V::mul(positive, positive);
    }
    case Activation::kSigmoid:
      return sigmoid<V>(x);
    case Activation::kQuickGelu:
      return V::mul(x, sigmoid<V>(V::mul(x, V::set(1.702F))));
  }
  return x;
}

template <class V>
void activation(const ActivationArgs& args) {
  for_vectors<V>(
      args.count, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
        typename V::F x = activated<V>(read<V>(args.a, args.a_dtype, i, n), args.activation);
        if (args.b != nullptr) x = V::mul(x, read<V>(args.b, args.b_dtype, i, n));
        write<V>(args.out, args.out_dtype, i, n, x);
      });
}

template <class V>
void add(const AddArgs& args) {
  for_vectors<V>(
      args.count, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
        write<V>(args.out, args.out_dtype, i, n,
                 V::add(read<V>(args.a, args.a_dtype, i, n), read<V>(args.b, args.b_dtype, i, n)));
      });
}

template <class V>
void convert(const void* x, DType x_dtype, int64_t count, void* out, DType out_dtype) {
  for_vectors<V>(
      count, [&](int64_t i, int64_t n)
                 __attribute__((always_inline)) { write<V>(out, out_dtype, i, n, read<V>(x, x_dtype, i, n)); });
}

}  // namespace
}  // namespace tp::cpu
