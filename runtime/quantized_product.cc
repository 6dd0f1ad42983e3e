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

// Integers, scales and zero points of one block, row by row as PackedLinear takes them.
struct KeptBlock {
  std::vector<std::byte> q;
  std::vector<std::byte> scales;
  std::vector<uint8_t> zeros;
};

// Rows that one task copies: those that share the lines of memory of a method that stores inputs by rows.
constexpr int64_t kRowsOfTask = 16;

class BlockReader {
 public:
  BlockReader(const StoredBlock& block, cpu::WeightFormat format, cpu::ScaleFormat scales, const std::vector<MappedFile>& files)
      : block_(block), tensor_(*block.tensor->quantized), reader_(tensor_, files), format_(format), scales_(scales) {
    const int64_t group = cpu::group_size(format);
    groups_ = group == 0 ? 1 : block.columns / group;
    row_bytes_ = cpu::quantized_row_bytes(format, block.columns);
    kept_.q.resize(static_cast<size_t>(block.rows * row_bytes_));
    kept_.scales.resize(static_cast<size_t>(block.rows * groups_ * size_bytes(scales.dtype)));
    if (scales.zeros) kept_.zeros.resize(static_cast<size_t>(block.rows * groups_));
  }

  void read(int64_t row) {
    const int64_t output = block_.offset / block_.stride + row, begin = block_.offset % block_.stride;
    std::vector<int16_t> codes(static_cast<size_t>(block_.columns));
    reader_.codes(output, begin, block_.columns, codes.data());
    std::byte* q = kept_.q.data() + row * row_bytes_;
    for (int64_t i = 0; i < row_bytes_; ++i) {
      const auto at = static_cast<size_t>(i);
      const int byte = format_ == cpu::WeightFormat::kInt8 ? codes[at] : codes[2 * at] | (codes[2 * at + 1] << 4);
      q[i] = static_cast<std::byte>(byte);
    }
    for (int64_t g = 0; g < groups_; ++g) read_group(output, row * groups_ + g, begin + g * cpu::group_size(format_));
  }

  cpu::QuantizedBlock placed(int64_t out_begin, int64_t in_begin) const {
    return {kept_.q.data(), kept_.scales.data(), row_bytes_, groups_,           block_.rows,
            block_.columns, out_begin,           in_begin,   kept_.zeros.data()};
  }

 private:
  // The group of input `input` goes to place `at`.
  void read_group(int64_t output, int64_t at, int64_t input) {
    const int64_t group = input / tensor_.group_in;
    if (scales_.dtype == DType::kF32) {
      const float scale = reader_.scale(output, group);
      std::memcpy(kept_.scales.data() + at * 4, &scale, sizeof(scale));
    } else {
      const uint16_t bits = reader_.scale_bits(output, group);
      std::memcpy(kept_.scales.data() + at * 2, &bits, sizeof(bits));
    }
    if (scales_.zeros) kept_.zeros[static_cast<size_t>(at)] = static_cast<uint8_t>(reader_.zero(output, group));
  }

  const StoredBlock& block_;
  const QuantizedTensor& tensor_;
  QuantizedReader reader_;
  cpu::WeightFormat format_;
  cpu::ScaleFormat scales_;
  int64_t groups_ = 0, row_bytes_ = 0;
  KeptBlock kept_;
};

cpu::ScaleFormat scale_format(WeightKind kind, const std::vector<QuantizedSource>& sources) {
  if (kind == WeightKind::kInt8) return {DType::kF32, false};
  cpu::ScaleFormat format{sources[0].block->tensor->quantized->scales.entry.dtype,
                          kind == WeightKind::kInt4Group32Zeros || kind == WeightKind::kInt4Group128Zeros};
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

cpu::PackedLinear kept_product(int64_t out, int64_t in, WeightKind kind, const std::vector<QuantizedSource>& sources,
                               const std::vector<MappedFile>& files, cpu::ThreadPool& pool, cpu::HugePages& pages) {
  const cpu::WeightFormat format = packed_format(kind);
  const cpu::ScaleFormat scales = sources.empty() ? cpu::ScaleFormat{} : scale_format(kind, sources);
  std::vector<BlockReader> readers;
  for (const QuantizedSource& source : sources) readers.emplace_back(*source.block, format, scales, files);
  std::vector<cpu::QuantizedBlock> blocks;
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t rows = sources[i].block->rows;
    pool.parallel_for((rows + kRowsOfTask - 1) / kRowsOfTask, [&](int64_t task) {
      for (int64_t row = task * kRowsOfTask; row < std::min(rows, (task + 1) * kRowsOfTask); ++row) readers[i].read(row);
    });
    blocks.push_back(readers[i].placed(sources[i].out_begin, sources[i].in_begin));
  }
  return {out, in, format, blocks, pool, scales, &pages};
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
