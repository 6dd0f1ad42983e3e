#include "runtime/cpu/integer_tile.h"

#if defined(__AVXVNNI__)
#include "runtime/cpu/vector_avx2.h"

namespace tp::cpu {
namespace {

// vpdpbusd multiplies unsigned by signed bytes and adds four products: rows are kept with 128 added, which is taken off with
// the sums of the weights.
struct AvxVnniIntegers {
  using Vector = Avx2;
  using V = __m256i;
  using Weights = V;
  static constexpr XLayout kLayout = XLayout::kUInt8;
  static constexpr int kMaxRows = 5, kMaxRowsOfTwoPanels = 1;

  static V zero() { return _mm256_setzero_si256(); }
  static V set(int word) { return _mm256_set1_epi32(word); }
  static V load(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static V broadcast(const std::byte* p) { return _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(p))); }
  static V weights(V w) { return w; }
  static V dot(V sum, V w, V x) { return _mm256_dpbusd_avx_epi32(sum, x, w); }
  static V less_128_times(V sum, V ones) { return _mm256_sub_epi32(sum, _mm256_slli_epi32(ones, 7)); }
  static V low(V w) { return _mm256_and_si256(w, _mm256_set1_epi8(0x0f)); }
  static V high(V w) { return low(_mm256_srli_epi16(w, 4)); }
  static V dot_nibbles(V sum, V q, V x) { return _mm256_dpbusd_avx_epi32(sum, q, x); }
  static V total(V sum) { return sum; }
  static Avx2::F to_float(V sum) { return _mm256_cvtepi32_ps(sum); }
};

}  // namespace

const MatmulPath* integer_path_avx_vnni() {
  static constexpr MatmulPath kPath = integer_path_of<AvxVnniIntegers>(Isa::kAvxVnni);
  return &kPath;
}

}  // namespace tp::cpu

#else

const tp::cpu::MatmulPath* tp::cpu::integer_path_avx_vnni() {
  return nullptr;
}

#endif
