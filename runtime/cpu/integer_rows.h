#pragma once

#include <cstdint>

#include "runtime/cpu/pack_rows.h"
#include "runtime/cpu/rows.h"
#include "runtime/cpu/weight_format.h"

namespace tp::cpu {

// Activations as integers, symmetric, a scale for each row: x = q * largest / 127 with the largest |x| of the row, q in
// [-127, 127] to nearest even. A row with a number that is not finite gets NaN for its scale, so all of its results are NaN.

// The largest |x| of each row to largest[rows]: NaN or infinite where a number of the row is.
void largest_of_rows(ConstRows x, int64_t rows, int64_t in, float* largest, ThreadPool& pool);
// Which of two such values is the larger one; one that is not finite is.
float larger_of(float a, float b);

// Quantizes `count` numbers with `largest` (largest_of_rows) and returns their scale.
float quantize_numbers(const float* x, int64_t count, float largest, int8_t* q);
float largest_of(const float* x, int64_t count);

// Quantizes the rows of one product and lays them out for weights in `format`, kInt8 or kInt4*. `layout` is the path's.
// `largest` [rows] or nullptr = those of x: a rank that holds a part of the rows must take those of the whole ones, so that a
// cut changes nothing.
PackedRows pack_integer_rows(ConstRows x, int64_t rows, int64_t in, int64_t in_padded, WeightFormat format, XLayout layout,
                             int64_t max_tile_rows, const float* largest, ThreadPool& pool);

}  // namespace tp::cpu
