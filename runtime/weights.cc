#include "runtime/weights.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/cpu/thread_pool.h"
#include "runtime/float_convert.h"
#include "runtime/linear_weights.h"
#include "runtime/quantized_reader.h"
#include "runtime/stored_blocks.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr int64_t kAlignment = 64;

// How one parameter is loaded.
struct Task {
  const Parameter* parameter = nullptr;
  std::vector<StoredBlock> blocks;
  bool packed = false;  // or integers: not in the block of memory
  bool in_place = false;
  int64_t source_offset = 0;  // in_place: of the slice's first byte in the file
  int64_t block_offset = 0;   // copied: in the block of memory
  DType dtype = DType::kF32;  // in memory

  int64_t bytes = 0;  // in memory

  int file() const { return blocks[0].tensor->file; }
};

// Offset in elements of a slice that is one piece of one stored tensor and needs no padding; -1 when it is not.
int64_t contiguous_begin(const Task& task) {
  if (task.blocks.empty() || task.parameter->transposed) return -1;
  const Extents local = extents(task.parameter->slice.local_shape);
  const StoredBlock& first = task.blocks[0];
  if (first.tensor->quantized) return -1;
  int64_t done = 0;
  for (const StoredBlock& block : task.blocks) {
    const int64_t place = (block.expert * local.rows + block.row) * local.columns + block.column;
    const bool one_piece = block.rows == 1 || (block.stride == block.columns && block.columns == local.columns);
    if (block.tensor != first.tensor || !one_piece || block.offset != first.offset + done || place != done) return -1;
    done += block.rows * block.columns;
  }
  return done == task.parameter->elements() ? first.offset : -1;
}

// Swaps rows and columns of each of the matrices of `stored` in place, element by element.
template <class Element>
void transpose(const Extents& stored, std::byte* data) {
  const auto [experts, rows, columns] = stored;
  std::vector<Element> matrix(static_cast<size_t>(rows * columns));
  for (int64_t expert = 0; expert < experts; ++expert) {
    std::byte* target = data + expert * rows * columns * static_cast<int64_t>(sizeof(Element));
    std::memcpy(matrix.data(), target, matrix.size() * sizeof(Element));
    auto* element = reinterpret_cast<Element*>(target);
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t row = 0; row < rows; ++row) *element++ = matrix[static_cast<size_t>(row * columns + column)];
  }
}

// A block of a weight that is stored quantized, `stride_bytes` from row to row.
void widen_block(const StoredBlock& block, const std::vector<MappedFile>& files, std::byte* to, int64_t stride_bytes,
                 DType dtype) {
  const QuantizedReader reader(*block.tensor->quantized, files);
  std::vector<float> numbers(static_cast<size_t>(block.columns));
  for (int64_t row = 0; row < block.rows; ++row) {
    reader.widen(block.offset / block.stride + row, block.offset % block.stride, block.columns, numbers.data());
    convert_elements(numbers.data(), DType::kF32, to + row * stride_bytes, dtype, block.columns);
  }
}

// Pages that were read and are not needed again.
void release(const Task& task, const std::vector<MappedFile>& files) {
  for (const StoredBlock& block : task.blocks) {
    const TensorEntry& entry = block.tensor->entry;
    files[static_cast<size_t>(block.tensor->file)].release(entry.offset, entry.size_bytes);
  }
}

void copy_slice(const Task& task, const std::vector<MappedFile>& files, std::byte* target) {
  const Extents local = extents(task.parameter->slice.local_shape);
  for (const StoredBlock& block : task.blocks) {
    const TensorEntry& entry = block.tensor->entry;
    const int64_t from_bytes = size_bytes(entry.dtype), to_bytes = size_bytes(task.dtype);
    std::byte* to = target + ((block.expert * local.rows + block.row) * local.columns + block.column) * to_bytes;
    if (block.tensor->quantized) {
      widen_block(block, files, to, local.columns * to_bytes, task.dtype);
      continue;
    }
    const std::byte* from = files[static_cast<size_t>(block.tensor->file)].data() + entry.offset + block.offset * from_bytes;
    if (block.stride == block.columns && block.columns == local.columns) {
      convert_elements(from, entry.dtype, to, task.dtype, block.rows * block.columns);
      continue;
    }
    for (int64_t row = 0; row < block.rows; ++row)
      convert_elements(from + row * block.stride * from_bytes, entry.dtype, to + row * local.columns * to_bytes, task.dtype,
                       block.columns);
  }
  release(task, files);
  if (!task.parameter->transposed) return;
  if (size_bytes(task.dtype) == 2) return transpose<uint16_t>(local, target);
  transpose<uint32_t>(local, target);
}

std::span<std::byte> allocate_block(int64_t size) {
  if (size == 0) return {};
  // Fresh anonymous pages are zero: padding needs no other care.
  void* memory = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("", "cannot allocate " + std::to_string(size) + " bytes for the weights");
  madvise(memory, static_cast<size_t>(size), MADV_HUGEPAGE);
  return {static_cast<std::byte*>(memory), static_cast<size_t>(size)};
}

// Decides where every parameter comes to lie. Parameters with the same stored slice get the same task.
struct LoadPlan {
  std::vector<Task> tasks;
  std::vector<size_t> task_of;  // by ParamId
  int64_t block_bytes = 0, total_bytes = 0;
};

Task plan_task(const Parameter& parameter, const Checkpoint& checkpoint, DType dtype, const LoadOptions& options) {
  Task task{&parameter, stored_blocks(parameter, checkpoint)};
  task.dtype = parameter.keep_float32 ? DType::kF32 : dtype;
  task.bytes = Weights::parameter_bytes(parameter, dtype);
  const bool as_stored = options.layout == LinearLayout::kStored && parameter.kind == WeightKind::kStored;
  task.packed = is_linear_weight(parameter) && !as_stored;
  const int64_t begin = contiguous_begin(task);
  if (begin < 0) return task;
  const TensorEntry& entry = task.blocks[0].tensor->entry;
  task.source_offset = entry.offset + begin * size_bytes(entry.dtype);
  // A header of any length may come before the data, so nothing in a file is aligned of itself.
  const bool aligned = task.source_offset % size_bytes(task.dtype) == 0;
  task.in_place = options.in_place && !task.packed && entry.dtype == task.dtype && aligned;
  return task;
}

LoadPlan plan_load(const ParameterTable& table, const Checkpoint& checkpoint, DType dtype, const LoadOptions& options) {
  LoadPlan plan;
  std::map<std::pair<const StoredTensor*, int64_t>, size_t> known;
  for (ParamId id = 0; id < table.size(); ++id) {
    Task task = plan_task(table.at(id), checkpoint, dtype, options);
    const int64_t begin = contiguous_begin(task), size = task.bytes;
    bool shared = false;
    if (begin >= 0) {
      const auto [found, fresh] = known.emplace(std::pair(task.blocks[0].tensor, begin), plan.tasks.size());
      // A head that is quantized is a copy of its own.
      shared = !fresh && plan.tasks[found->second].parameter->shape() == task.parameter->shape() &&
               task.parameter->kind == WeightKind::kStored;
      if (shared && !task.packed) {
        plan.task_of.push_back(found->second);
        continue;
      }
    }
    if (!task.in_place && !task.packed) {
      task.block_offset = plan.block_bytes;
      plan.block_bytes += (size + kAlignment - 1) / kAlignment * kAlignment;
    }
    if (!shared) plan.total_bytes += size;
    plan.task_of.push_back(plan.tasks.size());
    plan.tasks.push_back(std::move(task));
  }
  return plan;
}

// What is left to do while loading, for people.
class LoadProgress {
 public:
  LoadProgress(const LoadOptions& options, int64_t total) : options_(options), total_(total) {}
  void add(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    done_ = std::min(total_, done_ + bytes);
    if (options_.progress) options_.progress(done_, total_);
  }

 private:
  const LoadOptions& options_;
  std::mutex mutex_;
  int64_t done_ = 0, total_;
};

}  // namespace

Weights Weights::load(const ParameterTable& table, const Checkpoint& checkpoint, DType dtype, const LoadOptions& options) {
  const LoadPlan plan = plan_load(table, checkpoint, dtype, options);
  Weights weights;
  weights.dtype_ = dtype;
  weights.total_bytes_ = plan.total_bytes;
  for (const auto& path : checkpoint.files) weights.files_.emplace_back(path);
  weights.block_ = allocate_block(plan.block_bytes);

  LoadProgress progress(options, plan.total_bytes);
  cpu::ThreadPool pool(options.threads);
  pool.parallel_for(static_cast<int64_t>(plan.tasks.size()), [&](int64_t index) {
    const Task& task = plan.tasks[static_cast<size_t>(index)];
    if (task.packed) return;
    if (task.in_place) {
      const MappedFile& file = weights.files_[static_cast<size_t>(task.file())];
      // A device gets all of it next; of the embedding a CPU reads some rows.
      if (options.layout == LinearLayout::kStored) file.prefetch(task.source_offset, task.bytes);
      if (options.layout == LinearLayout::kPacked) file.read_ahead(task.source_offset, task.bytes);
    } else {
      copy_slice(task, weights.files_, weights.block_.data() + task.block_offset);
    }
    progress.add(task.bytes);
  });
  if (options.layout == LinearLayout::kPacked) {
    weights.packed_ = PackedWeights::pack(table, checkpoint, weights.files_, dtype, pool, [&](const std::vector<ParamId>& ids) {
      for (ParamId id : ids) progress.add(weights.bytes(table.at(id)));
    });
  } else {
    for (ParamId id = 0; id < table.size(); ++id) {
      const Task& task = plan.tasks[plan.task_of[static_cast<size_t>(id)]];
      if (!task.packed) continue;
      weights.integers_.emplace(id, load_integer_weight(table.at(id), task.blocks, weights.files_, pool));
      release(task, weights.files_);
      progress.add(task.bytes);
    }
  }

  for (size_t index : plan.task_of) {
    const Task& task = plan.tasks[index];
    const std::byte* copied = weights.block_.data() + task.block_offset;
    const std::byte* in_file =
        task.in_place ? weights.files_[static_cast<size_t>(task.file())].data() + task.source_offset : nullptr;
    weights.data_.push_back(task.packed ? nullptr : task.in_place ? in_file : copied);
  }
  return weights;
}

Weights::Weights(Weights&& other) noexcept
    : dtype_(other.dtype_),
      files_(std::move(other.files_)),
      data_(std::move(other.data_)),
      block_(std::exchange(other.block_, {})),
      packed_(std::move(other.packed_)),
      integers_(std::move(other.integers_)),
      total_bytes_(other.total_bytes_) {}

int64_t Weights::parameter_bytes(const Parameter& parameter, DType dtype) {
  if (!is_linear_weight(parameter)) return parameter.elements() * size_bytes(parameter.keep_float32 ? DType::kF32 : dtype);
  const Extents local = extents(parameter.shape());
  return weight_bytes(parameter.kind, dtype, local.experts * local.rows, local.columns);
}

Weights::~Weights() {
  if (!block_.empty()) munmap(block_.data(), block_.size());
}

}  // namespace tp
