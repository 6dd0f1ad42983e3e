#include "runtime/cpu/integer_tile.h"

#if defined(__AVX512VNNI__)
#include "runtime/cpu/vector_avx512.h"

namespace tp::cpu {
namespace {

// As AvxVnniIntegers, in 64 bytes.
struct Avx512VnniIntegers {
  using Vector = Avx512;
  using V = __m512i;
  using Weights = V;
  static constexpr XLayout kLayout = XLayout::kUInt8;
  // 32 registers: 24 sums, two of the weights alone.
  static constexpr int kMaxRows = 12, kMaxRowsOfTwoPanels = 12;

  static V zero() { return _mm512_setzero_si512(); }
  static V set(int word) { return _mm512_set1_epi32(word); }
  static V load(const std::byte* p) { return _mm512_loadu_si512(p); }
  static V broadcast(const std::byte* p) {
    int word = 0;
    __builtin_memcpy(&word, p, sizeof(word));
    return _mm512_set1_epi32(word);
  }
  static V weights(V w) { return w; }
  static V dot(V sum, V w, V x) { return _mm512_dpbusd_epi32(sum, x, w); }
  static V less_128_times(V sum, V ones) { return _mm512_sub_epi32(sum, _mm512_slli_epi32(ones, 7)); }
  static V low(V w) { return _mm512_and_si512(w, _mm512_set1_epi8(0x0f)); }
  static V high(V w) { return low(_mm512_srli_epi16(w, 4)); }
  static V dot_nibbles(V sum, V q, V x) { return _mm512_dpbusd_epi32(sum, q, x); }
  static V total(V sum) { return sum; }
  static Avx512::F to_float(V sum) { return _mm512_cvtepi32_ps(sum); }
};

}  // namespace

const MatmulPath* integer_path_avx512_vnni() {
  static constexpr MatmulPath kPath = integer_path_of<Avx512VnniIntegers>(Isa::kAvx512Vnni);
  return &kPath;
}

}  // namespace tp::cpu

#else

const tp::cpu::MatmulPath* tp::cpu::integer_path_avx512_vnni() {
  return nullptr;
}

#endif
