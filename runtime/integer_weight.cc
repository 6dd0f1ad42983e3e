#include "runtime/integer_weight.h"

#include <atomic>

#include "runtime/cpu/quantize.h"
#include "sharding/error.h"

namespace tp {
namespace {

// What stands for zero in an int4 weight without zero points.
constexpr auto kZeroNibbles = std::byte{0x88};

IntegerRows rows_of(IntegerWeight& weight, const Parameter& parameter, const Extents& local, const StoredBlock& block) {
  const cpu::WeightFormat format = packed_format(parameter.kind);
  IntegerRows rows;
  rows.row_bytes = cpu::quantized_row_bytes(format, local.columns);
  rows.scale_stride = cpu::scales_per_row(format, local.columns);
  const int64_t row = block.expert * local.rows + block.row;
  const int64_t group = cpu::group_size(format) == 0 ? 0 : block.column / cpu::group_size(format);
  const int64_t scale = row * rows.scale_stride + group;
  rows.q = weight.q.data() + row * rows.row_bytes + cpu::quantized_row_bytes(format, block.column);
  rows.scales = weight.scales.data() + scale * size_bytes(parameter.scale_dtype);
  if (!weight.zeros.empty()) rows.zeros = weight.zeros.data() + scale;
  return rows;
}

}  // namespace

bool quantize_block(const StoredBlock& block, WeightKind kind, const IntegerRows& to, const std::vector<MappedFile>& files,
                    cpu::ThreadPool& pool) {
  const cpu::WeightFormat format = packed_format(kind);
  const TensorEntry& entry = block.tensor->entry;
  const std::byte* tensor = files[static_cast<size_t>(block.tensor->file)].data() + entry.offset;
  const cpu::ConstRows lines{tensor, entry.dtype, block.stride};
  const cpu::ConstRows rows{tensor + block.offset * size_bytes(entry.dtype), entry.dtype, block.stride};
  std::atomic<bool> finite = true;
  pool.parallel_for(block.rows, [&](int64_t row) {
    auto* scales = reinterpret_cast<uint16_t*>(to.scales) + row * to.scale_stride;
    if (format == cpu::WeightFormat::kInt8) *scales = cpu::int8_scale(lines, block.offset / block.stride + row, block.stride);
    if (!cpu::quantize_row(rows, row, block.columns, format, scales, to.q + row * to.row_bytes)) finite = false;
  });
  return finite;
}

IntegerWeight load_integer_weight(const Parameter& parameter, const std::vector<StoredBlock>& blocks,
                                  const std::vector<MappedFile>& files, cpu::ThreadPool& pool) {
  const cpu::WeightFormat format = packed_format(parameter.kind);
  const Extents local = extents(parameter.shape());
  const int64_t rows = local.experts * local.rows, scales = rows * cpu::scales_per_row(format, local.columns);
  IntegerWeight weight;
  weight.q.resize(static_cast<size_t>(rows * cpu::quantized_row_bytes(format, local.columns)),
                  format == cpu::WeightFormat::kInt8 ? std::byte{0} : kZeroNibbles);
  weight.scales.resize(static_cast<size_t>(scales * size_bytes(parameter.scale_dtype)));
  if (has_zero_points(parameter.kind)) weight.zeros.resize(static_cast<size_t>(scales));
  for (const StoredBlock& block : blocks) {
    const IntegerRows to = rows_of(weight, parameter, local, block);
    if (const auto& stored = block.tensor->quantized) {
      if (parameter.scale_dtype != DType::kF32 && stored->scales.entry.dtype != parameter.scale_dtype)
        throw Error(stored->scales.name, "has another dtype than the scales of the weights beside it",
                    "convert them all to one dtype");
      copy_integers(block, parameter.kind, parameter.scale_dtype, to, files, pool);
    } else if (!quantize_block(block, parameter.kind, to, files, pool)) {
      throw Error(parameter.name(), "a weight is not a finite number and cannot be quantized",
                  "use unquantized weights or a sound checkpoint");
    }
  }
  return weight;
}

}  // namespace tp
