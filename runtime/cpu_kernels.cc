#include "runtime/cpu_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/float_convert.h"

// The bodies are written once with the compilers' vector types and inlined into functions for each instruction set.
#define TP_INLINE [[gnu::always_inline]] inline

namespace tp {
namespace {

constexpr int64_t kLanes = 8;
using Floats = float __attribute__((vector_size(32)));
using Ints = int32_t __attribute__((vector_size(32)));
using Halves = uint16_t __attribute__((vector_size(16)));

struct F32 {
  static constexpr int64_t kBytes = 4;
  TP_INLINE static void load(const char* from, Floats& to) { std::memcpy(&to, from, sizeof(to)); }
  TP_INLINE static float element(const char* from) {
    float value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
};

struct BF16 {
  static constexpr int64_t kBytes = 2;
  TP_INLINE static void load(const char* from, Floats& to) {
    Halves bits;
    std::memcpy(&bits, from, sizeof(bits));
    const Ints wide = __builtin_convertvector(bits, Ints) << 16;
    std::memcpy(&to, &wide, sizeof(to));
  }
  TP_INLINE static float element(const char* from) {
    uint16_t bits;
    std::memcpy(&bits, from, sizeof(bits));
    return bfloat16_to_float(bits);
  }
};

struct F16 {
  static constexpr int64_t kBytes = 2;
  // As float16_to_float.
  TP_INLINE static void load(const char* from, Floats& to) {
    Halves bits;
    std::memcpy(&bits, from, sizeof(bits));
    const Ints wide = __builtin_convertvector(bits, Ints);
    const Ints sign = (wide & 0x8000) << 16, magnitude = (wide & 0x7fff) << 13;
    Floats scaled;
    std::memcpy(&scaled, &magnitude, sizeof(scaled));
    scaled *= 0x1p112f;
    Ints result;
    std::memcpy(&result, &scaled, sizeof(result));
    const Ints infinite = magnitude >= 0x0f800000;
    result = (result & ~infinite) | ((magnitude | 0x7f800000) & infinite) | sign;
    std::memcpy(&to, &result, sizeof(to));
  }
  TP_INLINE static float element(const char* from) {
    uint16_t bits;
    std::memcpy(&bits, from, sizeof(bits));
    return float16_to_float(bits);
  }
};

TP_INLINE float lane_sum(const Floats& values) {
  float sum = 0.0f;
  for (int64_t lane = 0; lane < kLanes; ++lane) sum += values[lane];
  return sum;
}

// sums[m] = x[m] . w for kRows rows of x that lie `ldx` floats apart.
template <class W, int kRows>
TP_INLINE void dot_block(const float* x, int64_t ldx, const char* w, int64_t inner, float* sums) {
  constexpr int kChains = kRows == 1 ? 4 : 2;  // independent sums hide the latency of an FMA
  Floats sum[kRows][kChains] = {};
  int64_t k = 0;
  for (; k + kChains * kLanes <= inner; k += kChains * kLanes) {
    for (int chain = 0; chain < kChains; ++chain) {
      Floats weight;
      W::load(w + (k + chain * kLanes) * W::kBytes, weight);
      for (int row = 0; row < kRows; ++row) {
        Floats value;
        std::memcpy(&value, x + row * ldx + k + chain * kLanes, sizeof(value));
        sum[row][chain] += weight * value;
      }
    }
  }
  for (int row = 0; row < kRows; ++row) {
    Floats total = sum[row][0];
    for (int chain = 1; chain < kChains; ++chain) total += sum[row][chain];
    sums[row] = lane_sum(total);
  }
  for (; k < inner; ++k)
    for (int row = 0; row < kRows; ++row) sums[row] += W::element(w + k * W::kBytes) * x[row * ldx + k];
}

struct DotRows {
  const float* x;
  int64_t rows, inner;
  const char* w;
  int64_t begin, end;
  float* y;
  int64_t ldy;
};

template <class W, int kRows>
TP_INLINE void dot_and_store(const DotRows& task, int64_t row, int64_t n) {
  float sums[kRows];
  dot_block<W, kRows>(task.x + row * task.inner, task.inner, task.w + n * task.inner * W::kBytes, task.inner, sums);
  for (int i = 0; i < kRows; ++i) task.y[(row + i) * task.ldy + n] = sums[i];
}

template <class W>
TP_INLINE void dot_rows_body(const DotRows& task) {
  for (int64_t n = task.begin; n < task.end; ++n) {
    int64_t row = 0;
    for (; row + 4 <= task.rows; row += 4) dot_and_store<W, 4>(task, row, n);
    for (; row + 2 <= task.rows; row += 2) dot_and_store<W, 2>(task, row, n);
    if (row < task.rows) dot_and_store<W, 1>(task, row, n);
  }
}

// e^x for x <= 0, relative error below 2e-7 (Cephes' expf); below -87 it is 0.
TP_INLINE void exp_lanes(Floats& x) {
  const Ints vanished = x < -87.0f;
  const Floats magic = Floats{} + 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const Floats shifted = x * 1.44269504088896341f + magic;
  const Floats n = shifted - magic;
  const Floats r = x - n * 0.693359375f + n * 2.12194440e-4f;
  Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  Ints bits, exponent;
  std::memcpy(&bits, &p, sizeof(bits));
  std::memcpy(&exponent, &shifted, sizeof(exponent));
  bits = (bits + (exponent << 23)) & ~vanished;
  std::memcpy(&x, &bits, sizeof(x));
}

TP_INLINE void softmax_body(float* scores, int64_t count, const float* sink) {
  float largest = sink ? *sink : scores[0];
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, scores[i]);
  float total = sink ? std::exp(*sink - largest) : 0.0f;
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t used = std::min(kLanes, count - i);
    Floats values = Floats{} - 100.0f;
    for (int64_t lane = 0; lane < used; ++lane) values[lane] = scores[i + lane] - largest;
    exp_lanes(values);
    for (int64_t lane = 0; lane < used; ++lane) scores[i + lane] = values[lane];
    total += lane_sum(values);
  }
  const float inverse = 1.0f / total;
  for (int64_t i = 0; i < count; ++i) scores[i] *= inverse;
}

// out += p * v
template <class T>
TP_INLINE void accumulate(float p, const char* v, int64_t dim, float* out) {
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    Floats value, sum;
    T::load(v + d * T::kBytes, value);
    std::memcpy(&sum, out + d, sizeof(sum));
    sum += p * value;
    std::memcpy(out + d, &sum, sizeof(sum));
  }
  for (; d < dim; ++d) out[d] += p * T::element(v + d * T::kBytes);
}

template <class T>
TP_INLINE void attend_body(const GroupAttention& a, float* scores, float* out) {
  const char* k = static_cast<const char*>(a.k);
  const char* v = static_cast<const char*>(a.v);
  for (int64_t key = 0; key < a.keys; ++key) {
    for (int64_t g = 0; g < a.group; ++g) {
      float score;
      dot_block<T, 1>(a.q + g * a.dim, a.dim, k + key * a.dim * T::kBytes, a.dim, &score);
      score *= a.scale;
      if (a.softcap != 0.0f) score = a.softcap * std::tanh(score / a.softcap);
      scores[g * a.keys + key] = score;
    }
  }
  for (int64_t g = 0; g < a.group; ++g) softmax_body(scores + g * a.keys, a.keys, a.sinks ? a.sinks + g : nullptr);
  std::fill(out, out + a.group * a.dim_v, 0.0f);
  for (int64_t key = 0; key < a.keys; ++key)
    for (int64_t g = 0; g < a.group; ++g)
      accumulate<T>(scores[g * a.keys + key], v + key * a.dim_v * T::kBytes, a.dim_v, out + g * a.dim_v);
}

struct NormRows {
  const float* x;
  int64_t groups, size;
  NormKind kind;
  float eps;
  const float *weight, *bias;
  float* out;
};

// Sum over x of (x - shift)^power, power 1 or 2.
template <int kPower>
TP_INLINE float power_sum(const float* x, int64_t size, float shift) {
  Floats sums = {};
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    Floats values;
    std::memcpy(&values, x + i, sizeof(values));
    values -= shift;
    sums += kPower == 1 ? values : values * values;
  }
  float sum = lane_sum(sums);
  for (; i < size; ++i) sum += kPower == 1 ? x[i] - shift : (x[i] - shift) * (x[i] - shift);
  return sum;
}

TP_INLINE void norm_rows_body(const NormRows& n) {
  const float count = static_cast<float>(n.size);
  for (int64_t group = 0; group < n.groups; ++group) {
    const float* x = n.x + group * n.size;
    float* out = n.out + group * n.size;
    const float mean = n.kind == NormKind::kLayerNorm ? power_sum<1>(x, n.size, 0.0f) / count : 0.0f;
    const float inverse = 1.0f / std::sqrt(power_sum<2>(x, n.size, mean) / count + n.eps);
    const float offset = n.kind == NormKind::kRmsOnePlus ? 1.0f : 0.0f;
    for (int64_t i = 0; i < n.size; ++i) out[i] = (x[i] - mean) * inverse;
    if (n.weight)
      for (int64_t i = 0; i < n.size; ++i) out[i] *= n.weight[i] + offset;
    if (n.bias)
      for (int64_t i = 0; i < n.size; ++i) out[i] += n.bias[i];
  }
}

// One set of entry points per instruction set.
struct Kernels {
  void (*dot_rows)(const DotRows&, DType);
  void (*attend)(const GroupAttention&, float*, float*);
  void (*norm_rows)(const NormRows&);
  void (*softmax)(float*, int64_t, const float*);
};

#define TP_KERNELS(NAME, TARGET)                                                           \
  TARGET void dot_rows_##NAME(const DotRows& task, DType dtype) {                          \
    if (dtype == DType::kF32) return dot_rows_body<F32>(task);                             \
    if (dtype == DType::kBF16) return dot_rows_body<BF16>(task);                           \
    dot_rows_body<F16>(task);                                                              \
  }                                                                                        \
  TARGET void attend_##NAME(const GroupAttention& attention, float* scores, float* out) {  \
    if (attention.dtype == DType::kF32) return attend_body<F32>(attention, scores, out);   \
    if (attention.dtype == DType::kBF16) return attend_body<BF16>(attention, scores, out); \
    attend_body<F16>(attention, scores, out);                                              \
  }                                                                                        \
  TARGET void norm_rows_##NAME(const NormRows& task) {                                     \
    norm_rows_body(task);                                                                  \
  }                                                                                        \
  TARGET void softmax_##NAME(float* scores, int64_t count, const float* sink) {            \
    softmax_body(scores, count, sink);                                                     \
  }                                                                                        \
  constexpr Kernels kKernels_##NAME{dot_rows_##NAME, attend_##NAME, norm_rows_##NAME, softmax_##NAME};

TP_KERNELS(plain, )
#if defined(__x86_64__)
TP_KERNELS(avx2, __attribute__((target("avx2,fma"))))
TP_KERNELS(avx512, __attribute__((target("avx512f,avx512bw,avx512vl,avx2,fma"))))
#endif

const Kernels& kernels() {
  static const Kernels& chosen = [&]() -> const Kernels& {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) return kKernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kKernels_avx2;
#endif
    return kKernels_plain;
  }();
  return chosen;
}

}  // namespace

void dot_rows(const float* x, int64_t rows, int64_t inner, const void* w, DType dtype, int64_t begin, int64_t end, float* y,
              int64_t ldy) {
  kernels().dot_rows({x, rows, inner, static_cast<const char*>(w), begin, end, y, ldy}, dtype);
}

void attend(const GroupAttention& attention, float* scores, float* out) {
  kernels().attend(attention, scores, out);
}

void norm_rows(const float* x, int64_t groups, int64_t size, NormKind kind, float eps, const float* weight, const float* bias,
               float* out) {
  kernels().norm_rows({x, groups, size, kind, eps, weight, bias, out});
}

void softmax_in_place(float* scores, int64_t count, const float* sink) {
  kernels().softmax(scores, count, sink);
}

}  // namespace tp
