#include "runtime/cpu/matmul_tile.h"

#if defined(__AMX_BF16__) && defined(__AVX512F__)
#include "runtime/cpu/vector_avx512.h"

namespace tp::cpu {
namespace {

constexpr int kTileRows = 16, kMaxRows = 2 * kTileRows;

// Operand of ldtilecfg (Intel's manual, volume 1, 18.3).
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Tiles 0-3 are sums (upper and lower rows, two panels), 4-5 rows of x, 6-7 weights.
void configure(int upper_rows, int lower_rows) {
  TileConfig config;
  for (int t = 0; t < 8; ++t) {
    config.row_bytes[t] = 64;
    const bool lower = t == 2 || t == 3 || t == 5;
    config.rows[t] = static_cast<uint8_t>(t >= 6 ? kTileRows : lower ? lower_rows : upper_rows);
  }
  _tile_loadconfig(&config);
}

// y += x w with tdpbf16ps: 16 rows of x times 32 inputs times 16 outputs at once. x: [rows][in].
template <bool kLower, bool kSecond>
void amx_tile(const TileArgs& args, int rows) {
  configure(kLower ? kTileRows : rows, kLower ? rows - kTileRows : 1);
  const auto x_bytes = static_cast<size_t>(args.x_stride * 2), y_bytes = static_cast<size_t>(args.y_stride * 4);
  const std::byte* x = static_cast<const std::byte*>(args.x);
  const std::byte* lower_x = x + kTileRows * args.x_stride * 2;
  float* lower_y = args.y + kTileRows * args.y_stride;
  _tile_loadd(0, args.y, y_bytes);
  if constexpr (kSecond) _tile_loadd(1, args.y + kPanel, y_bytes);
  if constexpr (kLower) _tile_loadd(2, lower_y, y_bytes);
  if constexpr (kLower && kSecond) _tile_loadd(3, lower_y + kPanel, y_bytes);
  for (int64_t k = 0; k < args.in; k += 32) {
    const std::byte* w = args.weights + k * kPanel * 2;
    _tile_loadd(4, x + k * 2, x_bytes);
    if constexpr (kLower) _tile_loadd(5, lower_x + k * 2, x_bytes);
    _tile_loadd(6, w, 64);
    if constexpr (kSecond) _tile_loadd(7, w + args.panel_stride_bytes, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kSecond) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kLower) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kLower && kSecond) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, args.y, y_bytes);
  if constexpr (kSecond) _tile_stored(1, args.y + kPanel, y_bytes);
  if constexpr (kLower) _tile_stored(2, lower_y, y_bytes);
  if constexpr (kLower && kSecond) _tile_stored(3, lower_y + kPanel, y_bytes);
  _tile_release();
}

template <int kRows, bool kSecond>
void amx_tile_of(const TileArgs& args) {
  amx_tile<(kRows > kTileRows), kSecond>(args, kRows);
}

template <int kRows>
TileFn amx_tile_from(WeightFormat format, int rows, int panels) {
  if (format != WeightFormat::kBF16) return nullptr;
  if (rows == kRows) return panels == 2 ? amx_tile_of<kRows, true> : amx_tile_of<kRows, false>;
  if constexpr (kRows < kMaxRows) return amx_tile_from<kRows + 1>(format, rows, panels);
  return nullptr;
}

int two_panels(int) {
  return 2;
}

}  // namespace

const MatmulPath* matmul_path_amx() {
  static constexpr MatmulPath kPath = {Isa::kAmx,  XLayout::kBF16Rows, kMaxRows,           kMaxRows,
                                       two_panels, amx_tile_from<1>,   widen_from<Avx512>, finish<Avx512>};
  return &kPath;
}

}  // namespace tp::cpu

#else

const tp::cpu::MatmulPath* tp::cpu::matmul_path_amx() {
  return nullptr;
}

#endif
