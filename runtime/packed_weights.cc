#include "runtime/packed_weights.h"

#include <algorithm>
#include <utility>

#include "runtime/cpu/quantize.h"
#include "runtime/linear_weights.h"
#include "runtime/quantized_product.h"
#include "runtime/stored_blocks.h"
#include "sharding/error.h"

namespace tp {
namespace {

// The parameters of one product, or of the products of a layer's experts.
struct Joined {
  std::vector<ParamId> ids;
  std::vector<std::vector<StoredBlock>> blocks;  // by id
};

std::vector<Joined> join(const ParameterTable& table, const Checkpoint& checkpoint) {
  std::vector<std::vector<ParamId>> set_of(static_cast<size_t>(table.size()));
  std::vector<bool> later(set_of.size(), false);
  for (const std::vector<ParamId>& set : joined_linears(table)) {
    set_of[static_cast<size_t>(set[0])] = set;
    for (size_t i = 1; i < set.size(); ++i) later[static_cast<size_t>(set[i])] = true;
  }
  std::vector<Joined> result;
  for (ParamId id = 0; id < table.size(); ++id) {
    if (!is_linear_weight(table.at(id)) || later[static_cast<size_t>(id)]) continue;
    const std::vector<ParamId>& set = set_of[static_cast<size_t>(id)];
    Joined& joined = result.emplace_back(set.empty() ? std::vector<ParamId>{id} : set);
    for (ParamId member : joined.ids) joined.blocks.push_back(stored_blocks(table.at(member), checkpoint));
  }
  return result;
}

// Bytes of a file from a block's first element to its last.
struct FileRange {
  const MappedFile& file;
  int64_t offset, size;
};

FileRange range_of(const StoredBlock& block, const std::vector<MappedFile>& files) {
  const TensorEntry& entry = block.tensor->entry;
  // Which bytes of what is stored quantized a rank reads depends on the method: all of it is read ahead and let go.
  if (block.tensor->quantized) return {files[static_cast<size_t>(block.tensor->file)], entry.offset, entry.size_bytes};
  const int64_t element = size_bytes(entry.dtype);
  return {files[static_cast<size_t>(block.tensor->file)], entry.offset + block.offset * element,
          ((block.rows - 1) * block.stride + block.columns) * element};
}

void for_each_range(const Joined& joined, const std::vector<MappedFile>& files, auto action) {
  for (const auto& blocks : joined.blocks)
    for (const StoredBlock& block : blocks) action(range_of(block, files));
}

cpu::WeightBlock weight_block(const StoredBlock& block, bool transposed, int64_t out_begin,
                              const std::vector<MappedFile>& files) {
  const FileRange range = range_of(block, files);
  cpu::WeightBlock result;
  result.source = {range.file.data() + range.offset, block.tensor->entry.dtype, block.stride};
  result.transposed = transposed;
  result.out = transposed ? block.columns : block.rows;
  result.in = transposed ? block.rows : block.columns;
  result.out_begin = out_begin + (transposed ? block.column : block.row);
  result.in_begin = transposed ? block.row : block.column;
  return result;
}

struct PlacedBlock {
  const StoredBlock* stored;
  cpu::WeightBlock packed;
};

struct ProductShape {
  int64_t out, in;
  DType dtype;
  WeightKind kind;
};

// Of every output the scale of its whole stored row, also where this rank has a part of it: a cut must not change the integers.
std::vector<uint16_t> int8_scales(int64_t out, const std::vector<PlacedBlock>& blocks, cpu::ThreadPool& pool) {
  std::vector<uint16_t> scales(static_cast<size_t>(out));
  for (const auto& [stored, packed] : blocks) {
    const int64_t first_line = stored->offset / stored->stride, column = stored->offset % stored->stride;
    const int64_t element = size_bytes(packed.source.dtype), begin = packed.out_begin;
    const std::byte* tensor =
        static_cast<const std::byte*>(packed.source.data) - (first_line * stored->stride + column) * element;
    const cpu::ConstRows lines{tensor, packed.source.dtype, stored->stride};
    pool.parallel_for(stored->rows, [&, begin, width = stored->stride](int64_t row) {
      scales[static_cast<size_t>(begin + row)] = cpu::int8_scale(lines, first_line + row, width);
    });
  }
  return scales;
}

bool is_quantized(const PlacedBlock& block) {
  return block.stored->tensor->quantized != nullptr;
}

cpu::PackedLinear kept(const ProductShape& shape, const std::vector<PlacedBlock>& placed, const std::vector<MappedFile>& files,
                       cpu::ThreadPool& pool, cpu::HugePages& pages) {
  std::vector<QuantizedSource> sources;
  for (const PlacedBlock& block : placed) sources.push_back({block.stored, block.packed.out_begin, block.packed.in_begin});
  return kept_product(shape.out, shape.in, shape.kind, sources, files, pool, pages);
}

cpu::PackedLinear make_product(const ProductShape& shape, const std::vector<PlacedBlock>& placed,
                               const std::vector<MappedFile>& files, cpu::ThreadPool& pool, cpu::HugePages& pages) {
  const bool quantized = std::any_of(placed.begin(), placed.end(), is_quantized);
  if (shape.kind != WeightKind::kStored && quantized) return kept(shape, placed, files, pool, pages);
  std::vector<cpu::WeightBlock> blocks;
  std::vector<std::vector<float>> numbers;  // of blocks that are widened
  for (const PlacedBlock& block : placed) {
    blocks.push_back(block.packed);
    if (!is_quantized(block)) continue;
    numbers.push_back(widened(*block.stored, files, pool));
    blocks.back().source = {reinterpret_cast<const std::byte*>(numbers.back().data()), DType::kF32, block.stored->columns};
  }
  if (shape.kind == WeightKind::kStored) return {shape.out, shape.in, shape.dtype, blocks, pool, &pages};
  std::vector<uint16_t> scales;
  if (shape.kind == WeightKind::kInt8) scales = int8_scales(shape.out, placed, pool);
  return cpu::PackedLinear::quantized(shape.out, shape.in, packed_format(shape.kind), blocks, scales, pool, &pages);
}

// The error of a product says what cannot be quantized, the parameter says where.
cpu::PackedLinear make_named_product(const Parameter& parameter, const ProductShape& shape,
                                     const std::vector<PlacedBlock>& placed, const std::vector<MappedFile>& files,
                                     cpu::ThreadPool& pool, cpu::HugePages& pages) {
  try {
    return make_product(shape, placed, files, pool, pages);
  } catch (const Error& error) {
    throw Error(error.where().empty() ? parameter.name() : error.where(), error.message(), error.fix());
  }
}

}  // namespace

PackedWeights PackedWeights::pack(const ParameterTable& table, const Checkpoint& checkpoint,
                                  const std::vector<MappedFile>& files, DType dtype, cpu::ThreadPool& pool,
                                  const std::function<void(const std::vector<ParamId>&)>& packed) {
  PackedWeights weights;
  weights.places_.resize(static_cast<size_t>(table.size()));
  const std::vector<Joined> all = join(table, checkpoint);
  for (size_t index = 0; index < all.size(); ++index) {
    // While this one is packed the next one is read from the disk, if it is not in memory yet.
    if (index + 1 < all.size())
      for_each_range(all[index + 1], files, [](const FileRange& range) { range.file.read_ahead(range.offset, range.size); });
    const Joined& joined = all[index];
    const auto first = static_cast<int64_t>(weights.products_.size());
    int64_t out = 0;
    std::vector<std::vector<PlacedBlock>> products;  // one, or one per expert
    for (size_t i = 0; i < joined.ids.size(); ++i) {
      const Parameter& parameter = table.at(joined.ids[i]);
      const Extents local = extents(parameter.shape());
      weights.places_[static_cast<size_t>(joined.ids[i])] = {first, out};
      products.resize(static_cast<size_t>(local.experts));
      for (const StoredBlock& block : joined.blocks[i])
        products[static_cast<size_t>(block.expert)].push_back({&block, weight_block(block, parameter.transposed, out, files)});
      out += local.rows;
    }
    const Parameter& one = table.at(joined.ids[0]);
    const int64_t in = extents(one.shape()).columns;
    for (const auto& blocks : products)
      weights.products_.push_back(make_named_product(one, {out, in, dtype, one.kind}, blocks, files, pool, weights.pages_));
    for_each_range(joined, files, [](const FileRange& range) { range.file.release(range.offset, range.size); });
    if (packed) packed(joined.ids);
  }
  return weights;
}

}  // namespace tp
