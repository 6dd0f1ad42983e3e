#include "runtime/cpu/pack_rows.h"

#include <cstring>

#include "runtime/cpu/pack_weight.h"
#include "runtime/float_convert.h"

namespace tp::cpu {
namespace {

// Tiles from which the threads share the packing; below it takes a few microseconds.
constexpr int64_t kParallelTiles = 8;

struct Scratch {
  Buffer rows, sums;
};

Scratch& scratch() {
  thread_local Scratch memory;
  return memory;
}

// One row as float32 to out[k * stride].
void widen_row(const ConstRows& x, int64_t row, int64_t in, float* out, int64_t stride) {
  if (x.dtype == DType::kBF16) {
    const uint16_t* from = static_cast<const uint16_t*>(x.data) + row * x.stride;
    for (int64_t k = 0; k < in; ++k) out[k * stride] = bfloat16_to_float(from[k]);
  } else if (x.dtype == DType::kF32) {
    const float* from = static_cast<const float*>(x.data) + row * x.stride;
    for (int64_t k = 0; k < in; ++k) out[k * stride] = from[k];
  } else {
    const uint16_t* from = static_cast<const uint16_t*>(x.data) + row * x.stride;
    for (int64_t k = 0; k < in; ++k) out[k * stride] = float16_to_float(from[k]);
  }
}

void sum_groups(const float* x, int64_t stride, int64_t in_padded, int64_t group, float* sums) {
  for (int64_t g = 0; g < in_padded / group; ++g) {
    float sum = 0;
    for (int64_t k = g * group; k < (g + 1) * group; ++k) sum += x[k * stride];
    sums[g * stride] = sum;
  }
}

void scale_nibbles(float* x, int64_t stride, int64_t in_padded) {
  static constexpr float kPlace[8] = {1, 0x1p-4F, 0x1p-8F, 0x1p-12F, 0x1p-16F, 0x1p-20F, 0x1p-24F, 1};
  for (int64_t k = 0; k < in_padded; ++k) x[k * stride] *= kPlace[k % 8];
}

void pack_bf16(const ConstRows& x, int64_t row, int64_t in, const PackedRows& packed, int64_t rows, int64_t r,
               std::byte* tile) {
  const uint16_t* from = static_cast<const uint16_t*>(x.data) + row * x.stride;
  uint16_t* out = reinterpret_cast<uint16_t*>(tile);
  if (packed.layout == XLayout::kBF16Rows) {
    out += r * packed.in_padded;
    std::memcpy(out, from, static_cast<size_t>(in) * 2);
    std::memset(out + in, 0, static_cast<size_t>(packed.in_padded - in) * 2);
    return;
  }
  for (int64_t k = 0; k < packed.in_padded; ++k) out[(k / 2 * rows + r) * 2 + k % 2] = k < in ? from[k] : uint16_t{0};
}

}  // namespace

PackedRows pack_rows(ConstRows x, int64_t rows, int64_t in, int64_t in_padded, XLayout layout, int64_t max_tile_rows,
                     int64_t group, bool scaled_nibbles, ThreadPool& pool) {
  Scratch& memory = scratch();
  PackedRows packed;
  packed.rows = rows;
  packed.tiles = (rows + max_tile_rows - 1) / max_tile_rows;
  packed.in_padded = in_padded;
  packed.layout = layout;
  packed.element_bytes = layout == XLayout::kF32 ? 4 : 2;
  packed.group = group;
  memory.rows.reserve(rows * in_padded * packed.element_bytes);
  if (group > 0) memory.sums.reserve(rows * in_padded / group * int64_t{sizeof(float)});
  packed.data = memory.rows.data();
  packed.sums = reinterpret_cast<const float*>(memory.sums.data());

  const auto pack_tile = [&](int64_t tile) {
    const int64_t begin = packed.tile_begin(tile), count = packed.tile_rows(tile);
    std::byte* out = memory.rows.data() + begin * in_padded * packed.element_bytes;
    for (int64_t r = 0; r < count; ++r) {
      if (packed.layout != XLayout::kF32) {
        pack_bf16(x, begin + r, in, packed, count, r, out);
        continue;
      }
      float* row = reinterpret_cast<float*>(out) + r;
      widen_row(x, begin + r, in, row, count);
      for (int64_t k = in; k < in_padded; ++k) row[k * count] = 0;
      if (group > 0) {
        sum_groups(row, count, in_padded, group, reinterpret_cast<float*>(memory.sums.data()) + begin * in_padded / group + r);
      }
      if (scaled_nibbles) scale_nibbles(row, count, in_padded);
    }
  };
  if (packed.tiles < kParallelTiles) {
    for (int64_t tile = 0; tile < packed.tiles; ++tile) pack_tile(tile);
  } else {
    pool.parallel_for(packed.tiles, pack_tile);
  }
  return packed;
}

}  // namespace tp::cpu
