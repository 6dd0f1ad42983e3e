#include "runtime/device_weight.h"

#include <algorithm>
#include <cstring>

#include "runtime/float_convert.h"
#include "runtime/stored_blocks.h"

namespace tp {
namespace {

// What stands for zero among the nibbles of a program, which have a sign.
constexpr int kNibbleZero = 8;

// Swaps rows and columns of each of the matrices: to[column][row] = element(matrix's row, column), in squares that stay in the
// processor's nearest memory.
template <class To, class Element>
void transpose(const Extents& size, To* to, Element element) {
  constexpr int64_t kSquare = 64;
  for (int64_t expert = 0; expert < size.experts; ++expert, to += size.rows * size.columns) {
    for (int64_t rows = 0; rows < size.rows; rows += kSquare) {
      for (int64_t columns = 0; columns < size.columns; columns += kSquare) {
        const int64_t rows_end = std::min(size.rows, rows + kSquare), columns_end = std::min(size.columns, columns + kSquare);
        for (int64_t column = columns; column < columns_end; ++column)
          for (int64_t row = rows; row < rows_end; ++row)
            to[column * size.rows + row] = element(expert * size.rows + row, column);
      }
    }
  }
}

// [experts, out, groups]
Extents groups_of(const Parameter& parameter) {
  Extents size = extents(parameter.shape());
  const int64_t group = unit_of(parameter.kind);
  size.columns = (size.columns + group - 1) / group;
  return size;
}

}  // namespace

std::vector<std::byte> program_values(const Parameter& parameter, const IntegerWeight& weight) {
  if (parameter.kind == WeightKind::kInt8) return weight.q;
  const Extents size = extents(parameter.shape());
  std::vector<std::byte> values(weight.q.size() * 2);
  const std::byte* q = weight.q.data();
  transpose(size, reinterpret_cast<int8_t*>(values.data()), [&](int64_t row, int64_t column) {
    const auto pair = static_cast<unsigned>(q[(row * size.columns + column) / 2]);
    return static_cast<int8_t>(static_cast<int>((pair >> (column % 2 * 4)) & 15U) - kNibbleZero);
  });
  return values;
}

std::vector<std::byte> program_scales(const Parameter& parameter, const IntegerWeight& weight) {
  if (parameter.kind == WeightKind::kInt8) return weight.scales;
  const Extents size = groups_of(parameter);
  std::vector<std::byte> scales(weight.scales.size());
  const auto* from = reinterpret_cast<const uint16_t*>(weight.scales.data());
  transpose(size, reinterpret_cast<uint16_t*>(scales.data()),
            [&](int64_t row, int64_t group) { return from[row * size.columns + group]; });
  return scales;
}

std::vector<std::byte> program_zeros(const Parameter& parameter, const IntegerWeight& weight) {
  const Extents size = groups_of(parameter);
  std::vector<std::byte> zeros(weight.zeros.size() * 2);
  transpose(size, reinterpret_cast<uint16_t*>(zeros.data()), [&](int64_t row, int64_t group) {
    const int zero = weight.zeros[static_cast<size_t>(row * size.columns + group)];
    return float_to_bfloat16(static_cast<float>(zero - kNibbleZero));
  });
  return zeros;
}

}  // namespace tp
