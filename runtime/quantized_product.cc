#include "runtime/quantized_product.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "runtime/cpu/quantize.h"
#include "runtime/quantized_reader.h"
#include "sharding/error.h"

namespace tp {
namespace {

// Integers, scales and zero points of one block, as PackedLinear takes them.
struct KeptBlock {
  std::vector<std::byte> q;
  std::vector<std::byte> scales;
  std::vector<uint8_t> zeros;
  IntegerRows rows;
};

// Rows that one task copies: those that share the lines of memory of a method that stores inputs by rows.
constexpr int64_t kRowsOfTask = 16;

class BlockReader {
 public:
  BlockReader(const StoredBlock& block, WeightKind kind, DType scale_dtype, const IntegerRows& to,
              const std::vector<MappedFile>& files)
      : block_(block),
        tensor_(*block.tensor->quantized),
        reader_(tensor_, files),
        format_(packed_format(kind)),
        scale_dtype_(scale_dtype),
        to_(to) {}

  void read(int64_t row) const {
    const int64_t output = block_.offset / block_.stride + row, begin = block_.offset % block_.stride;
    std::vector<int16_t> codes(static_cast<size_t>(block_.columns));
    reader_.codes(output, begin, block_.columns, codes.data());
    std::byte* q = to_.q + row * to_.row_bytes;
    for (int64_t i = 0; i < cpu::quantized_row_bytes(format_, block_.columns); ++i) {
      const auto at = static_cast<size_t>(i);
      const int byte = format_ == cpu::WeightFormat::kInt8 ? codes[at] : codes[2 * at] | (codes[2 * at + 1] << 4);
      q[i] = static_cast<std::byte>(byte);
    }
    for (int64_t g = 0; g < cpu::scales_per_row(format_, block_.columns); ++g)
      read_group(output, row * to_.scale_stride + g, begin + g * cpu::group_size(format_));
  }

 private:
  // The group of input `input` goes to place `at`.
  void read_group(int64_t output, int64_t at, int64_t input) const {
    const int64_t group = input / tensor_.group_in;
    if (scale_dtype_ == DType::kF32) {
      const float scale = reader_.scale(output, group);
      std::memcpy(to_.scales + at * 4, &scale, sizeof(scale));
    } else {
      const uint16_t bits = reader_.scale_bits(output, group);
      std::memcpy(to_.scales + at * 2, &bits, sizeof(bits));
    }
    if (to_.zeros != nullptr) to_.zeros[at] = static_cast<uint8_t>(reader_.zero(output, group));
  }

  const StoredBlock& block_;
  const QuantizedTensor& tensor_;
  QuantizedReader reader_;
  cpu::WeightFormat format_;
  DType scale_dtype_;
  const IntegerRows& to_;
};

KeptBlock kept_block(const StoredBlock& block, WeightKind kind, cpu::ScaleFormat scales, const std::vector<MappedFile>& files,
                     cpu::ThreadPool& pool) {
  const cpu::WeightFormat format = packed_format(kind);
  KeptBlock kept;
  kept.rows.row_bytes = cpu::quantized_row_bytes(format, block.columns);
  kept.rows.scale_stride = cpu::scales_per_row(format, block.columns);
  kept.q.resize(static_cast<size_t>(block.rows * kept.rows.row_bytes));
  kept.scales.resize(static_cast<size_t>(block.rows * kept.rows.scale_stride * size_bytes(scales.dtype)));
  if (scales.zeros) kept.zeros.resize(static_cast<size_t>(block.rows * kept.rows.scale_stride));
  kept.rows.q = kept.q.data();
  kept.rows.scales = kept.scales.data();
  if (scales.zeros) kept.rows.zeros = kept.zeros.data();
  copy_integers(block, kind, scales.dtype, kept.rows, files, pool);
  return kept;
}

cpu::ScaleFormat scale_format(WeightKind kind, const std::vector<QuantizedSource>& sources) {
  if (kind == WeightKind::kInt8) return {DType::kF32, false};
  cpu::ScaleFormat format{sources[0].block->tensor->quantized->scales.entry.dtype, has_zero_points(kind)};
  for (const QuantizedSource& source : sources) {
    const StoredPart& scales = source.block->tensor->quantized->scales;
    if (scales.entry.dtype != format.dtype)
      throw Error(scales.name, "has another dtype than the scales of the weights beside it", "convert them all to one dtype");
  }
  return format;
}

}  // namespace

cpu::WeightFormat packed_format(WeightKind kind) {
  switch (kind) {
    case WeightKind::kStored:
    case WeightKind::kInt8:
      break;
    case WeightKind::kInt4Group32:
    case WeightKind::kInt4Group32Zeros:
      return cpu::WeightFormat::kInt4Group32;
    case WeightKind::kInt4Group128:
    case WeightKind::kInt4Group128Zeros:
      return cpu::WeightFormat::kInt4Group128;
  }
  return cpu::WeightFormat::kInt8;
}

bool has_zero_points(WeightKind kind) {
  return kind == WeightKind::kInt4Group32Zeros || kind == WeightKind::kInt4Group128Zeros;
}

void copy_integers(const StoredBlock& block, WeightKind kind, DType scale_dtype, const IntegerRows& to,
                   const std::vector<MappedFile>& files, cpu::ThreadPool& pool) {
  const BlockReader reader(block, kind, scale_dtype, to, files);
  pool.parallel_for((block.rows + kRowsOfTask - 1) / kRowsOfTask, [&](int64_t task) {
    for (int64_t row = task * kRowsOfTask; row < std::min(block.rows, (task + 1) * kRowsOfTask); ++row) reader.read(row);
  });
}

cpu::PackedLinear kept_product(int64_t out, int64_t in, WeightKind kind, const std::vector<QuantizedSource>& sources,
                               const std::vector<MappedFile>& files, cpu::ThreadPool& pool, cpu::HugePages& pages) {
  const cpu::ScaleFormat scales = sources.empty() ? cpu::ScaleFormat{} : scale_format(kind, sources);
  std::vector<KeptBlock> kept;
  std::vector<cpu::QuantizedBlock> blocks;
  for (const QuantizedSource& source : sources) {
    kept.push_back(kept_block(*source.block, kind, scales, files, pool));
    const IntegerRows& rows = kept.back().rows;
    blocks.push_back({rows.q, rows.scales, rows.row_bytes, rows.scale_stride, source.block->rows, source.block->columns,
                      source.out_begin, source.in_begin, rows.zeros});
  }
  return {out, in, packed_format(kind), blocks, pool, scales, &pages};
}

std::vector<float> widened(const StoredBlock& block, const std::vector<MappedFile>& files, cpu::ThreadPool& pool) {
  const QuantizedReader reader(*block.tensor->quantized, files);
  std::vector<float> numbers(static_cast<size_t>(block.rows * block.columns));
  std::atomic<bool> finite = true;
  pool.parallel_for((block.rows + kRowsOfTask - 1) / kRowsOfTask, [&](int64_t task) {
    for (int64_t row = task * kRowsOfTask; row < std::min(block.rows, (task + 1) * kRowsOfTask); ++row) {
      float* line = numbers.data() + row * block.columns;
      reader.widen(block.offset / block.stride + row, block.offset % block.stride, block.columns, line);
      for (int64_t i = 0; i < block.columns; ++i)
        if (!std::isfinite(line[i])) finite = false;
    }
  });
  if (!finite)
    throw Error(block.tensor->quantized->values.name, "has numbers that are not finite",
                "the checkpoint is damaged: get it again");
  return numbers;
}

}  // namespace tp
