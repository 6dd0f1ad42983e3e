#include "runtime/cpu/pack_weight.h"

#include <cstring>

#include "runtime/cpu/buffer.h"
#include "runtime/float_convert.h"

namespace tp::cpu {
namespace {

using Words = uint32_t __attribute__((vector_size(16)));

Words load(const std::byte* from) {
  Words words;
  std::memcpy(&words, from, sizeof(words));
  return words;
}

// Four words of each of four rows to four columns.
void transpose_words(const std::byte* source, int64_t stride_bytes, std::byte* target) {
  const Words a = load(source), b = load(source + stride_bytes), c = load(source + 2 * stride_bytes),
              d = load(source + 3 * stride_bytes);
  const Words ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Words cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Words columns[4] = {
      __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5), __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
      __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5), __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
  for (int64_t i = 0; i < 4; ++i) std::memcpy(target + i * kPanel * 4, &columns[i], sizeof(Words));
}

// Whole panels of words, one cache line of each row at a time: rows are often a power of two apart, so that the lines of all 16
// together would throw each other out of the first cache. Returns the units done.
int64_t interleave_lines(const std::byte* source, int64_t stride_bytes, int64_t units, std::byte* target) {
  constexpr int64_t kLineUnits = 16, kAhead = 512;
  const int64_t lines = units / kLineUnits;
  for (int64_t line = 0; line < lines; ++line) {
    const std::byte* from = source + line * 64;
    std::byte* to = target + line * kLineUnits * kPanel * 4;
    for (int64_t r = 0; r < kPanel; r += 4) {
      for (int64_t i = 0; i < 4; ++i) __builtin_prefetch(from + (r + i) * stride_bytes + kAhead);
      for (int64_t u = 0; u < kLineUnits; u += 4)
        transpose_words(from + r * stride_bytes + u * 4, stride_bytes, to + (u * kPanel + r) * 4);
    }
  }
  return lines * kLineUnits;
}

// Moves `units` units of T from each of `rows` strided rows to [unit][kPanel], beginning at column `out_begin`.
template <class T>
void interleave(const std::byte* source, int64_t stride_bytes, int64_t rows, int64_t units, int64_t out_begin,
                std::byte* target) {
  const int64_t done = sizeof(T) == 4 && rows == kPanel ? interleave_lines(source, stride_bytes, units, target) : 0;
  T* out = reinterpret_cast<T*>(target) + out_begin;
  if (rows == kPanel) {  // a fixed length, so that the inner loop is unrolled
    for (int64_t u = done; u < units; ++u) {
      for (int64_t r = 0; r < kPanel; ++r)
        std::memcpy(out + u * kPanel + r, source + r * stride_bytes + u * int64_t{sizeof(T)}, sizeof(T));
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t u = 0; u < units; ++u)
      std::memcpy(out + u * kPanel + r, source + r * stride_bytes + u * int64_t{sizeof(T)}, sizeof(T));
  }
}

// An odd end of a row of pairs: one bfloat16 of each output.
void pack_single_bf16(const PanelPart& part, int64_t i, std::byte* panel) {
  const int64_t k = part.in_begin + i;
  for (int64_t r = 0; r < part.out; ++r) {
    const std::byte* from = static_cast<const std::byte*>(part.source.data) + (r * part.source.stride + i) * 2;
    std::memcpy(panel + ((k / 2 * kPanel + part.out_begin + r) * 2 + k % 2) * 2, from, 2);
  }
}

void pack_bf16(const PanelPart& part, std::byte* panel) {
  const int64_t odd_begin = part.in_begin % 2, pairs = (part.in - odd_begin) / 2;
  if (odd_begin == 1) pack_single_bf16(part, 0, panel);
  const std::byte* from = static_cast<const std::byte*>(part.source.data) + odd_begin * 2;
  interleave<uint32_t>(from, part.source.stride * 2, part.out, pairs, part.out_begin,
                       panel + (part.in_begin + odd_begin) / 2 * kPanel * 4);
  if (odd_begin + pairs * 2 < part.in) pack_single_bf16(part, part.in - 1, panel);
}

// The part in rows of outputs and in `dtype`, as the packing below wants it; in memory that lasts until this thread's next
// call.
PanelPart staged(const PanelPart& part, DType dtype) {
  thread_local Buffer memory;
  const int64_t from_bytes = size_bytes(part.source.dtype), to_bytes = size_bytes(dtype);
  memory.reserve(part.out * part.in * to_bytes);
  const std::byte* from = static_cast<const std::byte*>(part.source.data);
  const auto place = [&](int64_t r, int64_t i) { return memory.data() + (r * part.in + i) * to_bytes; };
  if (part.transposed) {
    for (int64_t i = 0; i < part.in; ++i) {
      for (int64_t r = 0; r < part.out; ++r)
        convert_elements(from + (i * part.source.stride + r) * from_bytes, part.source.dtype, place(r, i), dtype, 1);
    }
  } else {
    for (int64_t r = 0; r < part.out; ++r)
      convert_elements(from + r * part.source.stride * from_bytes, part.source.dtype, place(r, 0), dtype, part.in);
  }
  PanelPart result = part;
  result.source = {memory.data(), dtype, part.in};
  result.transposed = false;
  return result;
}

}  // namespace

void interleave_words(const std::byte* source, int64_t stride_bytes, int64_t rows, int64_t units, int64_t out_begin,
                      std::byte* target) {
  interleave<uint32_t>(source, stride_bytes, rows, units, out_begin, target);
}

float element(const ConstRows& rows, int64_t r, int64_t i) {
  const int64_t at = r * rows.stride + i;
  if (rows.dtype == DType::kF32) {
    float value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(rows.data) + at * 4, 4);
    return value;
  }
  uint16_t value = 0;
  std::memcpy(&value, static_cast<const std::byte*>(rows.data) + at * 2, 2);
  return rows.dtype == DType::kBF16 ? bfloat16_to_float(value) : float16_to_float(value);
}

void pack_panel_part(const PanelPart& part, DType dtype, std::byte* panel) {
  if (part.source.dtype != dtype || part.transposed) return pack_panel_part(staged(part, dtype), dtype, panel);
  const std::byte* from = static_cast<const std::byte*>(part.source.data);
  if (part.source.dtype == DType::kBF16) return pack_bf16(part, panel);
  if (part.source.dtype == DType::kF16) {
    return interleave<uint16_t>(from, part.source.stride * 2, part.out, part.in, part.out_begin,
                                panel + part.in_begin * kPanel * 2);
  }
  interleave<uint32_t>(from, part.source.stride * 4, part.out, part.in, part.out_begin, panel + part.in_begin * kPanel * 4);
}

}  // namespace tp::cpu
