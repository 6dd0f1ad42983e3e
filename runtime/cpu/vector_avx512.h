#pragma once

// Sixteen float32 lanes of AVX-512 (F, BW, DQ, VL); for files that are compiled with those flags.

#include <immintrin.h>

#include <cstdint>

namespace tp::cpu {
namespace {

struct Avx512 {
  using F = __m512;
  static constexpr int kLanes = 16;
  // 32 registers: 12 rows of two panels leave eight for the weights and x.
  static constexpr int kMaxRows = 12, kMaxNarrowRows = 12, kMaxRowsOfTwoPanels = 12;

  static F zero() { return _mm512_setzero_ps(); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static F broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static F set(float value) { return _mm512_set1_ps(value); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F round(F a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  // 2^n for whole n in the range of normal numbers.
  static F power_of_two(F n) {
    const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23));
  }

  static F select_less(F a, F b, F yes, F no) { return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes); }
  static float sum(F a) { return _mm512_reduce_add_ps(a); }
  static float largest(F a) { return _mm512_reduce_max_ps(a); }

  static __m512i raw(const void* p) { return _mm512_loadu_si512(p); }
  static F load_low_bf16(const uint32_t* p) { return _mm512_castsi512_ps(_mm512_slli_epi32(raw(p), 16)); }
  static F load_high_bf16(const uint32_t* p) {
    return _mm512_castsi512_ps(_mm512_and_si512(raw(p), _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
  }
  static F load_bf16(const uint16_t* p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
  }
  static F load_f16(const uint16_t* p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static F load_bytes(const int8_t* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  template <int S>
  static F load_int8(const uint32_t* p) {
    const __m512i top = S == 3 ? raw(p) : _mm512_slli_epi32(raw(p), 24 - 8 * S);
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(top, 24));
  }
  template <int S>
  static F load_nibble(const uint32_t* p) {
    if constexpr (S == 7) return _mm512_cvtepi32_ps(_mm512_srli_epi32(raw(p), 28));
    return _mm512_cvtepi32_ps(_mm512_and_si512(raw(p), _mm512_set1_epi32(0xf << (4 * (S % 7)))));
  }

  static void store(float* p, F a) { _mm512_storeu_ps(p, a); }
  static void store_bf16(uint16_t* p, F a) {
    const __m512i bits = _mm512_castps_si512(a);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    const __m512i wide = _mm512_srli_epi32(_mm512_mask_blend_epi32(is_nan, rounded, quiet), 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(wide));
  }
  static void store_f16(uint16_t* p, F a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
};

}  // namespace
}  // namespace tp::cpu
