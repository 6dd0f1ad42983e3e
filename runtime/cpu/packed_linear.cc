#include "runtime/cpu/packed_linear.h"

#include <algorithm>
#include <cstring>

#include "runtime/cpu/integer_rows.h"
#include "runtime/cpu/pack_rows.h"
#include "runtime/cpu/pack_weight.h"

namespace tp::cpu {
namespace {

// Rows whose activations (for one block of inputs) stay in the second cache while a group of panels passes.
constexpr int64_t kRowBlock = 192;
// Panels that share such a block of rows, and the most that one task takes otherwise.
constexpr int64_t kPanelGroup = 8;

WeightFormat format_of(DType dtype) {
  return dtype == DType::kBF16 ? WeightFormat::kBF16 : dtype == DType::kF16 ? WeightFormat::kF16 : WeightFormat::kF32;
}

int64_t round_up(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}

// The part of `block` that lies in panel `panel`; out = 0 if none does.
PanelPart part_in_panel(const WeightBlock& block, int64_t panel) {
  const int64_t begin = std::max(block.out_begin, panel * kPanel);
  const int64_t end = std::min(block.out_begin + block.out, (panel + 1) * kPanel);
  PanelPart part;
  if (end <= begin) return part;
  const int64_t element_bytes = tp::size_bytes(block.source.dtype);
  part.source = block.source;
  part.transposed = block.transposed;
  part.source.data = static_cast<const std::byte*>(block.source.data) +
                     (begin - block.out_begin) * (block.transposed ? 1 : block.source.stride) * element_bytes;
  part.out_begin = begin - panel * kPanel;
  part.out = end - begin;
  part.in_begin = block.in_begin;
  part.in = block.in;
  return part;
}

}  // namespace

// One product, shared by its tasks: task = block of rows * groups + group of panels.
struct PackedLinear::Call {
  const MatmulPath& path;
  PackedRows x;
  Rows y;
  const float* bias = nullptr;
  bool widen = false;
  int64_t tiles_per_block = 1, panels_per_task = 1, groups = 1;
};

PackedLinear::PackedLinear(int64_t out, int64_t in, WeightFormat format, HugePages* pages)
    : out_(out), in_(in), in_padded_(round_up(in, std::max(kInAlign, group_size(format)))), format_(format) {
  panel_bytes_ = in_padded_ * kPanel * bits(format_) / 8;
  const int64_t size_bytes = panels() * panel_bytes_;
  weights_ = pages != nullptr ? pages->take(size_bytes) : Buffer(size_bytes);
}

PackedLinear::PackedLinear(int64_t out, int64_t in, DType dtype, const std::vector<WeightBlock>& blocks, ThreadPool& pool,
                           HugePages* pages)
    : PackedLinear(out, in, format_of(dtype), pages) {
  pool.parallel_for(panels(), [&](int64_t panel) {
    std::byte* target = weights_.data() + panel * panel_bytes_;
    int64_t covered = 0;
    for (const WeightBlock& block : blocks) covered += part_in_panel(block, panel).out * block.in;
    if (covered < kPanel * in_padded_) std::memset(target, 0, static_cast<size_t>(panel_bytes_));
    for (const WeightBlock& block : blocks) {
      const PanelPart part = part_in_panel(block, panel);
      if (part.out > 0) pack_panel_part(part, dtype, target);
    }
  });
}

void PackedLinear::run(ConstRows x, int64_t rows, Rows y, const Context& context, const float* bias,
                       const float* largest) const {
  if (rows <= 0 || out_ == 0) return;
  const bool integers = quantizes_rows(context);
  Call call{integers ? integer_path_for(context.kernels) : path_for(context.kernels, format_, x.dtype, rows), {}, y, bias};
  // Many rows share weights that were widened to float32 once; few rows widen them on the way.
  call.widen = rows > kFewRows && format_ != WeightFormat::kF32 && call.path.x_layout == XLayout::kF32;
  const int64_t max_tile_rows = call.widen || format_ == WeightFormat::kF32 ? call.path.max_rows : call.path.max_narrow_rows;
  const bool nibbles = group_size(format_) > 0 && !call.widen;
  call.x = integers
               ? pack_integer_rows(x, rows, in_, in_padded_, format_, call.path.x_layout, max_tile_rows, largest, context.pool)
               : pack_rows(x, rows, in_, in_padded_, call.path.x_layout, max_tile_rows, nibbles ? group_size(format_) : 0,
                           nibbles, context.pool);
  call.tiles_per_block = rows <= kFewRows ? call.x.tiles : std::max<int64_t>(1, kRowBlock / max_tile_rows);
  const int64_t row_blocks = (call.x.tiles + call.tiles_per_block - 1) / call.tiles_per_block;
  // Small enough that the last tasks end together, large enough to be worth claiming.
  const int64_t wanted_tasks = 16 * context.pool.threads();
  const int64_t share = panels() * row_blocks / std::max<int64_t>(1, wanted_tasks);
  call.panels_per_task = std::clamp<int64_t>(share / 2 * 2, 2, kPanelGroup);
  call.groups = (panels() + call.panels_per_task - 1) / call.panels_per_task;
  context.pool.parallel_for(row_blocks * call.groups, [&](int64_t task) { run_task(call, task); });
}

void PackedLinear::run_task(const Call& call, int64_t task) const {
  const int64_t tile_begin = task / call.groups * call.tiles_per_block;
  const int64_t tile_end = std::min(tile_begin + call.tiles_per_block, call.x.tiles);
  const int64_t panel_begin = task % call.groups * call.panels_per_task;
  const int64_t panel_end = std::min(panel_begin + call.panels_per_task, panels());
  const int64_t row_begin = call.x.tile_begin(tile_begin), row_end = call.x.tile_begin(tile_end);
  const int64_t stride = (panel_end - panel_begin) * kPanel;
  thread_local Buffer memory;
  const int64_t sums_bytes = (row_end - row_begin) * stride * int64_t{sizeof(float)};
  memory.reserve(sums_bytes);
  float* sums = reinterpret_cast<float*>(memory.data());
  std::memset(sums, 0, static_cast<size_t>(sums_bytes));
  // With few rows the weights are what counts: each panel is one stream. With many it is the activations: all panels of the
  // task pass before the next block of inputs.
  const int64_t step =
      call.x.rows <= kFewRows ? call.path.max_panels(static_cast<int>(call.x.max_tile_rows())) : panel_end - panel_begin;
  for (int64_t panel = panel_begin; panel < panel_end; panel += step) {
    sum_panels(call, tile_begin, tile_end, panel, std::min(panel + step, panel_end), sums + (panel - panel_begin) * kPanel,
               stride);
  }
  finish_panels(call, row_begin, row_end, panel_begin, panel_end, sums, stride);
}

void PackedLinear::sum_panels(const Call& call, int64_t tile_begin, int64_t tile_end, int64_t panel_begin, int64_t panel_end,
                              float* sums, int64_t sums_stride) const {
  alignas(64) float wide[2 * kInBlock * kPanel];
  const int64_t group = group_size(format_), pair = call.path.max_panels(static_cast<int>(call.x.max_tile_rows()));
  const WeightFormat format = call.widen ? WeightFormat::kF32 : format_;
  for (int64_t k = 0; k < in_padded_; k += kInBlock) {
    for (int64_t panel = panel_begin; panel < panel_end; panel += pair) {
      const int64_t count = std::min(pair, panel_end - panel);
      TileArgs args;
      args.weights = weights_.data() + panel * panel_bytes_ + k * kPanel * bits(format_) / 8;
      args.panel_stride_bytes = panel_bytes_;
      args.in = std::min(kInBlock, in_padded_ - k);
      args.y_stride = sums_stride;
      args.x_stride = in_padded_;
      if (group > 0) {
        args.scale_stride = in_padded_ / group * kPanel;
        const int64_t offset = panel * args.scale_stride + k / group * kPanel;
        args.scales = reinterpret_cast<const uint16_t*>(scales_.data()) + offset;
        args.scales_f16 = scale_format_.dtype == DType::kF16;
        if (scale_format_.zeros) args.zeros = reinterpret_cast<const uint16_t*>(zeros_.data()) + offset;
      }
      if (call.widen) {
        for (int64_t p = 0; p < count; ++p) {
          TileArgs one = args;
          one.weights += p * panel_bytes_;
          one.scales += p * args.scale_stride;
          if (one.zeros != nullptr) one.zeros += p * args.scale_stride;
          call.path.widen(format_)(one, wide + p * kInBlock * kPanel);
        }
        args.weights = reinterpret_cast<const std::byte*>(wide);
        args.panel_stride_bytes = kInBlock * kPanel * int64_t{sizeof(float)};
      }
      args.passes = call.widen ? 1 : tile_end - tile_begin;
      for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        args.pass = tile - tile_begin;
        args.x = call.x.tile_data(tile, k);
        args.x_sums = call.x.tile_sums(tile, k);
        args.y =
            sums + (call.x.tile_begin(tile) - call.x.tile_begin(tile_begin)) * sums_stride + (panel - panel_begin) * kPanel;
        call.path.tile(format, static_cast<int>(call.x.tile_rows(tile)), static_cast<int>(count))(args);
      }
    }
  }
}

void PackedLinear::finish_panels(const Call& call, int64_t row_begin, int64_t row_end, int64_t panel_begin, int64_t panel_end,
                                 const float* sums, int64_t sums_stride) const {
  const int64_t out_begin = panel_begin * kPanel, element_bytes = call.y.dtype == DType::kF32 ? 4 : 2;
  for (int64_t row = row_begin; row < row_end; ++row) {
    FinishArgs args;
    args.y = sums + (row - row_begin) * sums_stride;
    if (call.x.scales != nullptr) args.row_scale = call.x.scales[row];
    args.scale = scale_.empty() ? nullptr : scale_.data() + out_begin;
    args.bias = call.bias == nullptr ? nullptr : call.bias + out_begin;
    args.out = static_cast<std::byte*>(call.y.data) + (row * call.y.stride + out_begin) * element_bytes;
    args.dtype = call.y.dtype;
    args.count = std::min(panel_end * kPanel, out_) - out_begin;
    call.path.finish(args);
  }
}

}  // namespace tp::cpu
