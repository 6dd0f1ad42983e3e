#pragma once

// Eight float32 lanes of AVX2 with FMA and F16C; for files that are compiled with -mavx2 -mfma -mf16c.

#include <immintrin.h>

#include <cstdint>

namespace tp::cpu {
namespace {

struct Avx2 {
  using F = __m256;
  static constexpr int kLanes = 8;
  // 16 registers: 6 rows of two vectors leave three for the weights and x. Weights that are widened on the way need more, and
  // 8 sums keep the multiply-adds busy too.
  static constexpr int kMaxRows = 6, kMaxNarrowRows = 4, kMaxRowsOfTwoPanels = 2;

  static F zero() { return _mm256_setzero_ps(); }
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static F broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static F set(float value) { return _mm256_set1_ps(value); }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F round(F a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  // 2^n for whole n in the range of normal numbers.
  static F power_of_two(F n) {
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
  }

  static F select_less(F a, F b, F yes, F no) { return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
  static float sum(F a) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
  }
  static float largest(F a) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
  }

  static __m256i raw(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static F load_low_bf16(const uint32_t* p) { return _mm256_castsi256_ps(_mm256_slli_epi32(raw(p), 16)); }
  static F load_high_bf16(const uint32_t* p) {
    return _mm256_castsi256_ps(_mm256_and_si256(raw(p), _mm256_set1_epi32(static_cast<int>(0xffff0000U))));
  }
  static F load_bf16(const uint16_t* p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
  }
  static F load_f16(const uint16_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static F load_bytes(const int8_t* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  template <int S>
  static F load_int8(const uint32_t* p) {
    const __m256i top = S == 3 ? raw(p) : _mm256_slli_epi32(raw(p), 24 - 8 * S);
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(top, 24));
  }
  template <int S>
  static F load_nibble(const uint32_t* p) {
    if constexpr (S == 7) return _mm256_cvtepi32_ps(_mm256_srli_epi32(raw(p), 28));
    return _mm256_cvtepi32_ps(_mm256_and_si256(raw(p), _mm256_set1_epi32(0xf << (4 * (S % 7)))));
  }

  static void store(float* p, F a) { _mm256_storeu_ps(p, a); }
  static void store_bf16(uint16_t* p, F a) {
    const __m256i bits = _mm256_castps_si256(a);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    const __m256i wide = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, is_nan), 16);
    const __m128i narrow = _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), narrow);
  }
  static void store_f16(uint16_t* p, F a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
};

}  // namespace
}  // namespace tp::cpu
