#pragma once

#include <cstdint>

#include "runtime/cpu/buffer.h"
#include "runtime/cpu/matmul_path.h"
#include "runtime/cpu/rows.h"
#include "runtime/cpu/thread_pool.h"

namespace tp::cpu {

// The activations of one product, cut into tiles and laid out as a path reads them (XLayout), padded with zeros to
// `in_padded`. Tiles are as equal as possible. The memory is the calling thread's and lasts until its next product.
struct PackedRows {
  int64_t rows = 0, tiles = 0;
  int64_t in_padded = 0;
  int64_t element_bytes = 4;
  int64_t group = 0;
  XLayout layout = XLayout::kF32;
  const std::byte* data = nullptr;
  const float* sums = nullptr;    // of groups of inputs, for kInt4*
  const float* scales = nullptr;  // of quantized rows [rows]; nullptr = 1

  int64_t tile_begin(int64_t tile) const { return rows * tile / tiles; }
  int64_t tile_rows(int64_t tile) const { return tile_begin(tile + 1) - tile_begin(tile); }
  int64_t max_tile_rows() const { return (rows + tiles - 1) / tiles; }
  // Address of a tile at input `k`, and of its group sums.
  const void* tile_data(int64_t tile, int64_t k) const {
    const int64_t ahead = layout == XLayout::kBF16Rows ? k : k * tile_rows(tile);
    return data + (tile_begin(tile) * in_padded + ahead) * element_bytes;
  }
  const float* tile_sums(int64_t tile, int64_t k) const {
    return group == 0 ? nullptr : sums + (tile_begin(tile) * in_padded + k * tile_rows(tile)) / group;
  }
};

// `scaled_nibbles`: multiplies input k by 16^-(k % 8), k % 8 < 7, as kInt4*'s tiles want it (weight_format.h).
PackedRows pack_rows(ConstRows x, int64_t rows, int64_t in, int64_t in_padded, XLayout layout, int64_t max_tile_rows,
                     int64_t group, bool scaled_nibbles, ThreadPool& pool);

}  // namespace tp::cpu
