#include "runtime/cpu/matmul_tile.h"

#if defined(__AVX512BF16__)
#include "runtime/cpu/vector_avx512.h"

namespace tp::cpu {
namespace {

constexpr int kMaxRows = 12;

// y += x w with vdpbf16ps, which sums pairs of inputs in float32. x: [in/2][rows][2].
template <int kRows, int kPanels>
void pair_tile(const TileArgs& args) {
  __m512 acc[kRows][kPanels];
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kPanels; ++p) acc[r][p] = _mm512_setzero_ps();
  }
  const std::byte* w = args.weights;
  const int* x = static_cast<const int*>(args.x);
  for (int64_t k = 0; k < args.in; k += 2, w += 64, x += kRows) {
    __m512bh weights[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      const std::byte* from = w + p * args.panel_stride_bytes;
      if constexpr (kRows <= 4) __builtin_prefetch(from + kPrefetchBytes);
      weights[p] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
    }
    for (int r = 0; r < kRows; ++r) {
      const __m512bh pair = reinterpret_cast<__m512bh>(_mm512_set1_epi32(x[r]));
      for (int p = 0; p < kPanels; ++p) acc[r][p] = _mm512_dpbf16_ps(acc[r][p], weights[p], pair);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kPanels; ++p) {
      float* y = args.y + r * args.y_stride + p * kPanel;
      _mm512_storeu_ps(y, _mm512_add_ps(_mm512_loadu_ps(y), acc[r][p]));
    }
  }
}

template <int kRows>
TileFn pair_tile_from(WeightFormat format, int rows, int panels) {
  if (format != WeightFormat::kBF16) return nullptr;
  if (rows == kRows) return panels == 2 ? pair_tile<kRows, 2> : pair_tile<kRows, 1>;
  if constexpr (kRows < kMaxRows) return pair_tile_from<kRows + 1>(format, rows, panels);
  return nullptr;
}

int two_panels(int) {
  return 2;
}

}  // namespace

const MatmulPath* matmul_path_avx512_bf16() {
  static constexpr MatmulPath kPath = {Isa::kAvx512Bf16, XLayout::kBF16Pairs, kMaxRows,           kMaxRows,
                                       two_panels,       pair_tile_from<1>,   widen_from<Avx512>, finish<Avx512>};
  return &kPath;
}

}  // namespace tp::cpu

#else

const tp::cpu::MatmulPath* tp::cpu::matmul_path_avx512_bf16() {
  return nullptr;
}

#endif
