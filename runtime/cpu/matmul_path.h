#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cpu/isa.h"
#include "runtime/cpu/weight_format.h"

namespace tp::cpu {

// How a path wants its activations: rows are cut into tiles, and each tile is stored as
enum class XLayout {
  kF32,        // [in][rows] float32
  kBF16Pairs,  // [in/2][rows][2] bfloat16
  kBF16Rows,   // [rows][in] bfloat16
  kInt8,       // [in/4][rows][4] int8, for weights in kInt4* inputs 0, 2, 4, 6, 1, 3, 5, 7 of each eight
  kUInt8,      // the same, 128 added to what multiplies weights in kInt8
};

// One call of a tile kernel: y[r][o] += sum over `in` inputs of x[r][i] * w[o][i], for the rows of a tile and one or two
// panels of outputs.
struct TileArgs {
  const std::byte* weights = nullptr;  // first panel, at the first input
  int64_t panel_stride_bytes = 0;
  const uint16_t* scales = nullptr;  // kInt4*: [in/group][16] of the first panel, at the first input
  bool scales_f16 = false;           // float16, otherwise bfloat16
  const uint16_t* zeros = nullptr;   // kInt4*: zero points in bfloat16, laid out as the scales; nullptr = 8
  int64_t scale_stride = 0;          // elements from one panel's scales to the next one's
  const void* x = nullptr;           // the tile, at the first input
  int64_t x_stride = 0;              // kBF16Rows: elements from row to row
  const float* x_sums = nullptr;     // kInt4*: [in/group][rows] sums of x over each group; of integers over each 32
  int64_t in = 0;                    // at most kInBlock, a multiple of kInAlign (and of the group)
  // Tiles of one block that read these weights one after the other, and which of them this is: while the last rows use a block
  // the next one comes from memory.
  int64_t passes = 1, pass = 0;
  float* y = nullptr;    // [rows][16 * panels]
  int64_t y_stride = 0;  // elements
};
using TileFn = void (*)(const TileArgs& args);

// From a float32 sum to the result: out = round(y * row_scale * scale + bias).
struct FinishArgs {
  const float* y = nullptr;
  float row_scale = 1;
  const float* scale = nullptr;  // nullptr = 1
  const float* bias = nullptr;   // nullptr = 0
  void* out = nullptr;
  DType dtype = DType::kF32;  // of out: kF32, kBF16 or kF16
  int64_t count = 0;
};
using FinishFn = void (*)(const FinishArgs& args);

// Widens `in` inputs of one panel to float32 [in][16]. kInt8 is left without its scale, kInt4* has it.
using WidenFn = void (*)(const TileArgs& args, float* out);

// The matrix kernels of one instruction set. `tile` is nullptr for a format that the path does not read itself.
struct MatmulPath {
  Isa isa = Isa::kPlain;
  XLayout x_layout = XLayout::kF32;
  int max_rows = 0;                       // of a tile with weights in kF32
  int max_narrow_rows = 0;                // of a tile with weights in other formats
  int (*max_panels)(int rows) = nullptr;  // 1 or 2
  TileFn (*tile)(WeightFormat format, int rows, int panels) = nullptr;
  WidenFn (*widen)(WeightFormat format) = nullptr;
  FinishFn finish = nullptr;
};

// The path of an instruction set; nullptr where the compiler could not build it. To be called only if isa_available.
const MatmulPath* matmul_path(Isa isa);

// The path for quantized rows (kInt8, kUInt8), which does not widen: of kPlain, kAvx2, kAvxVnni, kAvx512Vnni; else nullptr.
const MatmulPath* integer_path(Isa isa);

const MatmulPath* matmul_path_plain();
const MatmulPath* matmul_path_avx2();
const MatmulPath* matmul_path_avx512();
const MatmulPath* matmul_path_avx512_bf16();
const MatmulPath* matmul_path_amx();
const MatmulPath* integer_path_plain();
const MatmulPath* integer_path_avx2();
const MatmulPath* integer_path_avx_vnni();
const MatmulPath* integer_path_avx512_vnni();

}  // namespace tp::cpu
