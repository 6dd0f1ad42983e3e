#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cpu/buffer.h"
#include "runtime/cpu/context.h"
#include "runtime/cpu/huge_pages.h"
#include "runtime/cpu/rows.h"
#include "runtime/cpu/weight_format.h"

namespace tp::cpu {

// A rectangle of a stored weight [out, in] and the place where it comes in the packed one. Several blocks make one weight:
// the runs of a slice, or q, k and v of one layer joined into a single product.
struct WeightBlock {
  ConstRows source;                     // first element of the block (in the mapped file, say; any alignment, also kF64)
  int64_t out = 0, in = 0;              // size
  int64_t out_begin = 0, in_begin = 0;  // place in the packed weight
  bool transposed = false;              // stored [in, out]: rows of the source are inputs
};

// A rectangle of a weight that is stored as integers (quantize.h), and its place in the packed one. Inputs begin and end on
// boundaries of 8, and of groups.
struct QuantizedBlock {
  const void* q = nullptr;       // row r begins row_bytes after row r - 1
  const void* scales = nullptr;  // in ScaleFormat::dtype; row r's begin scale_stride elements after row r - 1's
  int64_t row_bytes = 0, scale_stride = 0;
  int64_t out = 0, in = 0;
  int64_t out_begin = 0, in_begin = 0;
  const uint8_t* zeros = nullptr;  // kInt4* with ScaleFormat::zeros: laid out as the scales, 0 to 16
};

// Of one product. kBF16 or kF16; kInt8 takes kF32 too.
struct ScaleFormat {
  DType dtype = DType::kBF16;
  bool zeros = false;  // kInt4*: each group has a zero point; otherwise it is 8
};

// A linear layer whose weight was laid out once, at load, for the way it is read: y = x W^T + b.
//
// Every output is a float32 sum over blocks of kInBlock inputs, in order, each summed in order; it is rounded once, after the
// bias. Its bits depend neither on the number of rows, outputs or threads nor on its neighbours. (On the paths for bfloat16
// and tile instructions, which sum pairs, that holds for each path alone.) Products of integers with quantized rows are exact
// within a block (kInt4*: within 32 inputs).
class PackedLinear {
 public:
  PackedLinear() = default;
  // `dtype` (kF32, kBF16 or kF16) is the packed format; sources of another one are converted, what no block covers is zero. The
  // threads of `pool` pack straight from the sources, each byte is read once. The weight lies in `pages`, which must outlive
  // it, or (nullptr) in memory of its own.
  PackedLinear(int64_t out, int64_t in, DType dtype, const std::vector<WeightBlock>& blocks, ThreadPool& pool,
               HugePages* pages = nullptr);

  // kInt8 or kInt4*, from integers that are stored.
  PackedLinear(int64_t out, int64_t in, WeightFormat format, const std::vector<QuantizedBlock>& blocks, ThreadPool& pool,
               ScaleFormat scales = {}, HugePages* pages = nullptr);
  // Quantizes while packing; blocks as above, their inputs on boundaries of 8 and of groups. kInt8 takes the scales of the
  // outputs [out] in bfloat16 (int8_scale: of whole rows, also where this rank holds a part of their inputs), kInt4* finds its
  // own. Throws Error for weights that are not finite.
  static PackedLinear quantized(int64_t out, int64_t in, WeightFormat format, const std::vector<WeightBlock>& blocks,
                                const std::vector<uint16_t>& int8_scales, ThreadPool& pool, HugePages* pages = nullptr);

  int64_t out() const { return out_; }
  int64_t in() const { return in_; }
  // Outputs with those that fill the last panel: the length of a bias.
  int64_t out_padded() const { return panels() * kPanel; }
  WeightFormat format() const { return format_; }
  // Bytes that one step reads.
  int64_t size_bytes() const { return weights_.size_bytes() + scales_.size_bytes() + zeros_.size_bytes(); }

  // Whether run() quantizes its rows.
  bool quantizes_rows(const Context& context) const {
    return context.int8_activations && (format_ == WeightFormat::kInt8 || group_size(format_) > 0);
  }

  // y [rows, out] = x [rows, in] W^T + bias, rounded once to y's dtype. `bias` [out_padded()] float32 or nullptr = 0. x and y
  // must not overlap. `largest` is pack_integer_rows' where the rows are quantized.
  void run(ConstRows x, int64_t rows, Rows y, const Context& context, const float* bias = nullptr,
           const float* largest = nullptr) const;

 private:
  struct Call;

  PackedLinear(int64_t out, int64_t in, WeightFormat format, HugePages* pages);
  // Zeros of an integer format for a panel, and a block's part of it.
  void clear_quantized(int64_t panel);
  void pack_quantized(const QuantizedBlock& block, int64_t panel);
  int64_t panels() const { return (out_ + kPanel - 1) / kPanel; }
  void run_task(const Call& call, int64_t task) const;
  void sum_panels(const Call& call, int64_t tile_begin, int64_t tile_end, int64_t panel_begin, int64_t panel_end, float* sums,
                  int64_t sums_stride) const;
  void finish_panels(const Call& call, int64_t row_begin, int64_t row_end, int64_t panel_begin, int64_t panel_end,
                     const float* sums, int64_t sums_stride) const;

  int64_t out_ = 0, in_ = 0, in_padded_ = 0;
  int64_t panel_bytes_ = 0;
  WeightFormat format_ = WeightFormat::kF32;
  Buffer weights_;  // [panels][panel_bytes_], see weight_format.h
  ScaleFormat scale_format_;
  Buffer scales_;             // kInt4*: [panels][in / group][16] in scale_format_.dtype
  Buffer zeros_;              // kInt4* with scale_format_.zeros: the same in bfloat16
  std::vector<float> scale_;  // kInt8: [panels * 16]
};

}  // namespace tp::cpu
