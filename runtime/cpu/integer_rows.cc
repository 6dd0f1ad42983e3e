#include "runtime/cpu/integer_rows.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/float_convert.h"

namespace tp::cpu {
namespace {

// Rows from which the threads share the work.
constexpr int64_t kParallelRows = 16;
// Inputs of kInt4* whose sums the kernels take (TileArgs::x_sums).
constexpr int64_t kSummed = 32;

// Sizes of numbers are ordered as their bits are, NaN last.
uint32_t size_bits(float x) {
  return std::bit_cast<uint32_t>(x) & 0x7fffffffU;
}

struct RowScale {
  float scale, inverse;
};

RowScale row_scale(float largest) {
  if (!std::isfinite(largest)) return {NAN, 0};
  // Too small to divide by: zeros.
  if (largest < 1e-30F) return {0, 0};
  return {largest / 127.0F, 127.0F / largest};
}

// The low byte of x + 1.5 * 2^23 is x rounded to a whole number, half to even.
void round_to_bytes(const float* x, int64_t count, float inverse, int8_t* q) {
  for (int64_t i = 0; i < count; ++i) q[i] = static_cast<int8_t>(std::bit_cast<uint32_t>(x[i] * inverse + 12582912.0F));
}

// Each eight bytes become 0, 2, 4, 6, 1, 3, 5, 7.
void even_before_odd(int8_t* q, int64_t count) {
  for (int64_t i = 0; i < count; i += 8) {
    int8_t eight[8];
    std::memcpy(eight, q + i, 8);
    for (int64_t k = 0; k < 8; ++k) q[i + k] = eight[k < 4 ? 2 * k : 2 * k - 7];
  }
}

struct Scratch {
  Buffer rows, sums, scales;
};

Scratch& scratch() {
  thread_local Scratch memory;
  return memory;
}

// The floats and bytes of one row, of the thread that works on it.
struct RowScratch {
  Buffer wide, q;
};

class RowPacker {
 public:
  RowPacker(ConstRows x, int64_t in, const PackedRows& packed, bool nibbles, const float* largest, Scratch& memory)
      : x_(x), in_(in), packed_(packed), nibbles_(nibbles), largest_(largest), memory_(memory) {}

  void pack(int64_t tile, int64_t r) const {
    thread_local RowScratch row;
    const int64_t padded = packed_.in_padded, line = packed_.tile_begin(tile) + r, rows = packed_.tile_rows(tile);
    row.wide.reserve(padded * int64_t{sizeof(float)});
    row.q.reserve(padded);
    float* wide = reinterpret_cast<float*>(row.wide.data());
    auto* q = reinterpret_cast<int8_t*>(row.q.data());
    convert_elements(x_.row(line), x_.dtype, wide, DType::kF32, in_);
    const float largest = largest_ != nullptr ? largest_[line] : largest_of(wide, in_);
    reinterpret_cast<float*>(memory_.scales.data())[line] = quantize_numbers(wide, in_, largest, q);
    std::memset(q + in_, 0, static_cast<size_t>(padded - in_));
    if (nibbles_) {
      float* sums = reinterpret_cast<float*>(memory_.sums.data()) + packed_.tile_begin(tile) * padded / kSummed + r;
      for (int64_t g = 0; g < padded / kSummed; ++g) {
        int sum = 0;
        for (int64_t k = g * kSummed; k < (g + 1) * kSummed; ++k) sum += q[k];
        sums[g * rows] = static_cast<float>(sum);
      }
      even_before_odd(q, padded);
    } else if (packed_.layout == XLayout::kUInt8) {
      for (int64_t k = 0; k < padded; ++k) q[k] = static_cast<int8_t>(q[k] ^ 0x80);
    }
    std::byte* out = memory_.rows.data() + packed_.tile_begin(tile) * padded + 4 * r;
    for (int64_t k = 0; k < padded; k += 4) std::memcpy(out + k * rows, q + k, 4);
  }

 private:
  const ConstRows x_;
  const int64_t in_;
  const PackedRows& packed_;
  const bool nibbles_;
  const float* largest_;
  Scratch& memory_;
};

void for_rows(int64_t rows, int64_t tasks, ThreadPool& pool, const auto& action) {
  if (rows < kParallelRows) {
    for (int64_t task = 0; task < tasks; ++task) action(task);
  } else {
    pool.parallel_for(tasks, action);
  }
}

}  // namespace

float largest_of(const float* x, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = size_bits(x[i]) > largest ? size_bits(x[i]) : largest;
  return std::bit_cast<float>(largest);
}

float quantize_numbers(const float* x, int64_t count, float largest, int8_t* q) {
  const auto [scale, inverse] = row_scale(largest);
  if (inverse == 0) {
    std::memset(q, 0, static_cast<size_t>(count));
  } else {
    round_to_bytes(x, count, inverse, q);
  }
  return scale;
}

float larger_of(float a, float b) {
  return size_bits(a) > size_bits(b) ? a : b;
}

void largest_of_rows(ConstRows x, int64_t rows, int64_t in, float* largest, ThreadPool& pool) {
  for_rows(rows, rows, pool, [&](int64_t row) {
    thread_local Buffer memory;
    memory.reserve(in * int64_t{sizeof(float)});
    float* wide = reinterpret_cast<float*>(memory.data());
    convert_elements(x.row(row), x.dtype, wide, DType::kF32, in);
    largest[row] = largest_of(wide, in);
  });
}

PackedRows pack_integer_rows(ConstRows x, int64_t rows, int64_t in, int64_t in_padded, WeightFormat format, XLayout layout,
                             int64_t max_tile_rows, const float* largest, ThreadPool& pool) {
  const bool nibbles = group_size(format) > 0;
  Scratch& memory = scratch();
  memory.rows.reserve(rows * in_padded);
  memory.scales.reserve(rows * int64_t{sizeof(float)});
  if (nibbles) memory.sums.reserve(rows * in_padded / kSummed * int64_t{sizeof(float)});
  PackedRows packed{
      rows, (rows + max_tile_rows - 1) / max_tile_rows, in_padded, 1, nibbles ? kSummed : 0, layout, memory.rows.data()};
  packed.sums = reinterpret_cast<const float*>(memory.sums.data());
  packed.scales = reinterpret_cast<const float*>(memory.scales.data());
  const RowPacker packer(x, in, packed, nibbles, largest, memory);
  for_rows(rows, packed.tiles, pool, [&](int64_t tile) {
    for (int64_t r = 0; r < packed.tile_rows(tile); ++r) packer.pack(tile, r);
  });
  return packed;
}

}  // namespace tp::cpu
