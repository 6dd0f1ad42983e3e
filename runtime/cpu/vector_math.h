#pragma once

// Functions of float32 vectors, written once over a vector type V (vector_<isa>.h). As everything that is compiled per
// instruction set: internal linkage, no inline function of the standard library.

#include <cstdint>

#include "sharding/dtype.h"

namespace tp::cpu {
namespace {

// By Horner, the coefficient of the highest power first (in `sum`).
template <class V, class... Rest>
typename V::F polynomial(typename V::F x, typename V::F sum, float next, Rest... rest) {
  const typename V::F value = V::fma(sum, x, V::set(next));
  if constexpr (sizeof...(rest) == 0) {
    return value;
  } else {
    return polynomial<V>(x, value, rest...);
  }
}

// e^x with a relative error below 2e-7 (Cephes' expf); 0 below -87, e^88 above 88. A NaN stays one.
template <class V>
typename V::F exp(typename V::F x) {
  using F = typename V::F;
  const F inside = V::min(V::set(88.0F), V::max(V::set(-87.0F), x));
  const F n = V::round(V::mul(inside, V::set(1.44269504088896341F)));
  const F r = V::fma(n, V::set(2.12194440e-4F), V::fma(n, V::set(-0.693359375F), inside));
  const F p = polynomial<V>(r, V::set(1.9875691500e-4F), 1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F,
                            5.0000001201e-1F);
  const F y = V::add(V::fma(p, V::mul(r, r), r), V::set(1.0F));
  return V::select_less(x, V::set(-87.0F), V::zero(), V::mul(y, V::power_of_two(n)));
}

// Relative error below 3e-7 (Cephes' tanhf).
template <class V>
typename V::F tanh(typename V::F x) {
  using F = typename V::F;
  const F size = V::max(x, V::sub(V::zero(), x));
  const F z = V::mul(x, x);
  const F p = polynomial<V>(z, V::set(-5.70498872745e-3F), 2.06390887954e-2F, -5.37397155531e-2F, 1.33314422036e-1F,
                            -3.33332819422e-1F);
  const F near = V::fma(V::mul(p, z), x, x);
  const F e = exp<V>(V::add(size, size));
  const F far = V::sub(V::set(1.0F), V::div(V::set(2.0F), V::add(e, V::set(1.0F))));
  const F signed_far = V::select_less(x, V::zero(), V::sub(V::zero(), far), far);
  return V::select_less(size, V::set(0.625F), near, signed_far);
}

// Relative error below 5e-7: the rational function that Eigen uses.
template <class V>
typename V::F erf(typename V::F x) {
  using F = typename V::F;
  const F inside = V::min(V::set(4.0F), V::max(V::set(-4.0F), x));
  const F z = V::mul(inside, inside);
  const F p = polynomial<V>(z, V::set(-2.72614225801306e-10F), 2.77068142495902e-08F, -2.10102402082508e-06F,
                            -5.69250639462346e-05F, -7.34990630326855e-04F, -2.95459980854025e-03F, -1.60960333262415e-02F);
  const F q = polynomial<V>(z, V::set(-1.45660718464996e-05F), -2.13374055278905e-04F, -1.68282697438203e-03F,
                            -7.37332916720468e-03F, -1.42647390514189e-02F);
  return V::div(V::mul(inside, p), q);
}

// Elements [i, i + n) of an array of any of the three dtypes, n at most V::kLanes; what lies beyond is not touched and reads as
// 0.
template <class V>
inline __attribute__((always_inline)) typename V::F read(const void* data, DType dtype, int64_t i, int64_t n) {
  if (dtype == DType::kF32) {
    const float* p = static_cast<const float*>(data) + i;
    if (n == V::kLanes) return V::load(p);
    float part[V::kLanes] = {};
    __builtin_memcpy(part, p, static_cast<size_t>(n) * 4);
    return V::load(part);
  }
  const uint16_t* p = static_cast<const uint16_t*>(data) + i;
  uint16_t part[V::kLanes] = {};
  if (n < V::kLanes) {
    __builtin_memcpy(part, p, static_cast<size_t>(n) * 2);
    p = part;
  }
  return dtype == DType::kBF16 ? V::load_bf16(p) : V::load_f16(p);
}

template <class V>
inline __attribute__((always_inline)) void write(void* data, DType dtype, int64_t i, int64_t n, typename V::F value) {
  if (dtype == DType::kF32) {
    float* p = static_cast<float*>(data) + i;
    if (n == V::kLanes) return V::store(p, value);
    float part[V::kLanes];
    V::store(part, value);
    __builtin_memcpy(p, part, static_cast<size_t>(n) * 4);
    return;
  }
  uint16_t* p = static_cast<uint16_t*>(data) + i;
  uint16_t part[V::kLanes];
  uint16_t* target = n == V::kLanes ? p : part;
  if (dtype == DType::kBF16) {
    V::store_bf16(target, value);
  } else {
    V::store_f16(target, value);
  }
  if (n < V::kLanes) __builtin_memcpy(p, part, static_cast<size_t>(n) * 2);
}

// Calls f(i, n) for whole vectors and the rest of `count` elements.
template <class V, class F>
inline __attribute__((always_inline)) void for_vectors(int64_t count, const F& f) {
  int64_t i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) f(i, int64_t{V::kLanes});
  if (i < count) f(i, count - i);
}

}  // namespace
}  // namespace tp::cpu
