#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cpu/rows.h"
#include "runtime/cpu/weight_format.h"

namespace tp::cpu {

// Element `i` of row `r` in any of the three dtypes; the address may be unaligned.
float element(const ConstRows& rows, int64_t r, int64_t i);

// A part of one panel: `out` outputs from out_begin (within the panel) and `in` inputs from in_begin, out of `source`.
struct PanelPart {
  ConstRows source;
  int64_t out_begin = 0, out = 0;
  int64_t in_begin = 0, in = 0;
  bool transposed = false;  // rows of the source are inputs
};

// Copies the part to its place in a panel of the format that has this dtype (kF32, kF16, kBF16).
void pack_panel_part(const PanelPart& part, DType dtype, std::byte* panel);

// Moves `units` words of 32 bits from each of `rows` rows, `stride_bytes` apart, to [unit][kPanel] from column `out_begin` on.
void interleave_words(const std::byte* source, int64_t stride_bytes, int64_t rows, int64_t units, int64_t out_begin,
                      std::byte* target);

}  // namespace tp::cpu
