#include <algorithm>
#include <atomic>
#include <cstring>

#include "runtime/cpu/pack_weight.h"
#include "runtime/cpu/packed_linear.h"
#include "runtime/cpu/quantize.h"
#include "runtime/float_convert.h"
#include "sharding/error.h"

namespace tp::cpu {

void PackedLinear::clear_quantized(int64_t panel) {
  // A nibble of 8 is a zero (weight_format.h). Scales are 0 as well, so padding gives 0 whatever the activations are.
  const int zero = format_ == WeightFormat::kInt8 ? 0 : 0x88;
  std::memset(weights_.data() + panel * panel_bytes_, zero, static_cast<size_t>(panel_bytes_));
  if (group_size(format_) == 0) return;
  const int64_t scale_bytes = in_padded_ / group_size(format_) * kPanel * 2;
  std::memset(scales_.data() + panel * scale_bytes, 0, static_cast<size_t>(scale_bytes));
  if (scale_format_.zeros) std::memset(zeros_.data() + panel * scale_bytes, 0, static_cast<size_t>(scale_bytes));
}

void PackedLinear::pack_quantized(const QuantizedBlock& block, int64_t panel) {
  const int64_t begin = std::max(block.out_begin, panel * kPanel);
  const int64_t end = std::min(block.out_begin + block.out, (panel + 1) * kPanel), group = group_size(format_);
  if (end <= begin) return;
  const int64_t column = begin - panel * kPanel, row = begin - block.out_begin;
  std::byte* target = weights_.data() + panel * panel_bytes_ + block.in_begin * kPanel * bits(format_) / 8;
  interleave_words(static_cast<const std::byte*>(block.q) + row * block.row_bytes, block.row_bytes, end - begin,
                   block.in * bits(format_) / 32, column, target);
  const int64_t scale_bytes = tp::size_bytes(scale_format_.dtype);
  for (int64_t r = 0; r < end - begin; ++r) {
    const std::byte* scales = static_cast<const std::byte*>(block.scales) + (row + r) * block.scale_stride * scale_bytes;
    if (group == 0) {
      convert_elements(scales, scale_format_.dtype, &scale_[static_cast<size_t>(begin + r)], DType::kF32, 1);
      continue;
    }
    const int64_t offset = (panel * in_padded_ + block.in_begin) / group * kPanel + column + r;
    const int64_t groups = scales_per_row(format_, block.in);
    auto* to = reinterpret_cast<uint16_t*>(scales_.data()) + offset;
    for (int64_t g = 0; g < groups; ++g) std::memcpy(&to[g * kPanel], scales + g * 2, 2);
    if (!scale_format_.zeros) continue;
    auto* zeros = reinterpret_cast<uint16_t*>(zeros_.data()) + offset;
    for (int64_t g = 0; g < groups; ++g) zeros[g * kPanel] = float_to_bfloat16(block.zeros[(row + r) * block.scale_stride + g]);
  }
}

PackedLinear::PackedLinear(int64_t out, int64_t in, WeightFormat format, const std::vector<QuantizedBlock>& blocks,
                           ThreadPool& pool, ScaleFormat scales, HugePages* pages)
    : PackedLinear(out, in, format, pages) {
  scale_format_ = scales;
  if (group_size(format_) == 0) {
    scale_.resize(static_cast<size_t>(panels() * kPanel));
  } else {
    const int64_t size_bytes = panels() * in_padded_ / group_size(format_) * kPanel * 2;
    const auto memory = [&] { return pages != nullptr ? pages->take(size_bytes) : Buffer(size_bytes); };
    scales_ = memory();
    if (scales.zeros) zeros_ = memory();
  }
  pool.parallel_for(panels(), [&](int64_t panel) {
    clear_quantized(panel);
    for (const QuantizedBlock& block : blocks) pack_quantized(block, panel);
  });
}

PackedLinear PackedLinear::quantized(int64_t out, int64_t in, WeightFormat format, const std::vector<WeightBlock>& blocks,
                                     const std::vector<uint16_t>& int8_scales, ThreadPool& pool, HugePages* pages) {
  PackedLinear linear(out, in, format, std::vector<QuantizedBlock>{}, pool, {}, pages);
  std::atomic<bool> finite = true;
  pool.parallel_for(linear.panels(), [&](int64_t panel) {
    std::vector<std::byte> q(static_cast<size_t>(quantized_row_bytes(format, linear.in_padded_) * kPanel));
    std::vector<uint16_t> scales(static_cast<size_t>(scales_per_row(format, linear.in_padded_) * kPanel));
    for (const WeightBlock& block : blocks) {
      const int64_t begin = std::max(block.out_begin, panel * kPanel);
      const int64_t end = std::min(block.out_begin + block.out, (panel + 1) * kPanel);
      if (end <= begin) continue;
      QuantizedBlock part{q.data(),
                          scales.data(),
                          quantized_row_bytes(format, block.in),
                          scales_per_row(format, block.in),
                          end - begin,
                          block.in,
                          begin,
                          block.in_begin};
      for (int64_t r = 0; r < end - begin; ++r) {
        uint16_t* row_scales = scales.data() + r * part.scale_stride;
        if (format == WeightFormat::kInt8) *row_scales = int8_scales[static_cast<size_t>(begin + r)];
        const int64_t source_row = begin - block.out_begin + r;
        if (!quantize_row(block.source, source_row, block.in, format, row_scales, q.data() + r * part.row_bytes))
          finite = false;
      }
      linear.pack_quantized(part, panel);
    }
  });
  if (!finite)
    throw Error("", "a weight is not a finite number and cannot be quantized", "use unquantized weights or a sound checkpoint");
  return linear;
}

}  // namespace tp::cpu
