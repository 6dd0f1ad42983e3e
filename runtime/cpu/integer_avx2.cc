#include "runtime/cpu/integer_tile.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "runtime/cpu/vector_avx2.h"

namespace tp::cpu {
namespace {

struct Avx2Integers {
  using Vector = Avx2;
  using V = __m256i;
  // vpmaddubsw multiplies unsigned by signed bytes: sizes of weights (up to 128) by rows with their sign (up to 127 in size),
  // so that a pair is at most 32512 and fits 16 bits.
  struct Weights {
    V signs, sizes;
  };
  static constexpr XLayout kLayout = XLayout::kInt8;
  // 16 registers: 8 sums, two weights with their sizes.
  static constexpr int kMaxRows = 4, kMaxRowsOfTwoPanels = 1;

  static V zero() { return _mm256_setzero_si256(); }
  static V load(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static V broadcast(const std::byte* p) { return _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(p))); }
  static Weights weights(V w) { return {w, _mm256_abs_epi8(w)}; }
  static V dot(V sum, const Weights& w, V x) {
    const V pairs = _mm256_maddubs_epi16(w.sizes, _mm256_sign_epi8(x, w.signs));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static V low(V w) { return _mm256_and_si256(w, _mm256_set1_epi8(0x0f)); }
  static V high(V w) { return low(_mm256_srli_epi16(w, 4)); }
  // In 16 bits: a pair is at most 2 * 15 * 127, eight of them 30480.
  static V dot_nibbles(V sum, V q, V x) { return _mm256_add_epi16(sum, _mm256_maddubs_epi16(q, x)); }
  static V total(V sum) { return _mm256_madd_epi16(sum, _mm256_set1_epi16(1)); }
  static Avx2::F to_float(V sum) { return _mm256_cvtepi32_ps(sum); }
};

}  // namespace

const MatmulPath* integer_path_avx2() {
  static constexpr MatmulPath kPath = integer_path_of<Avx2Integers>(Isa::kAvx2);
  return &kPath;
}

}  // namespace tp::cpu

#else

const tp::cpu::MatmulPath* tp::cpu::integer_path_avx2() {
  return nullptr;
}

#endif
