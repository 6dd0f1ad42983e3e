#include "runtime/weights.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/float_convert.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr int64_t kAlignment = 64;

// A tensor of up to three dimensions seen as [experts, rows, columns].
using Extents = std::array<int64_t, 3>;

Extents extents(const std::vector<int64_t>& shape) {
  Extents result{1, 1, 1};
  std::copy(shape.begin(), shape.end(), result.end() - static_cast<int64_t>(shape.size()));
  return result;
}

// What a rank takes along each of the three dimensions, in the indices of the whole tensor.
using Selection = std::array<std::vector<SliceRun>, 3>;

Selection selection(const Parameter& parameter) {
  const Extents whole = extents(parameter.stored_shape);
  Selection result;
  for (size_t i = 0; i < 3; ++i) result[i] = {{0, whole[i], 0}};
  if (!parameter.slice.whole())
    result[3 - parameter.stored_shape.size() + static_cast<size_t>(parameter.slice.dim)] = parameter.slice.runs;
  return result;
}

// How one parameter is loaded.
struct Task {
  const Parameter* parameter = nullptr;
  std::vector<WeightSource> sources;  // one, or for experts that are stored apart one per expert and part
  bool in_place = false;
  int64_t source_offset = 0;  // in_place: of the slice's first byte in the file
  int64_t block_offset = 0;   // otherwise: in the block
  DType dtype = DType::kF32;  // in memory

  int64_t target_bytes() const { return parameter->elements() * size_bytes(dtype); }
};

std::vector<WeightSource> find_sources(const Parameter& parameter, const Checkpoint& checkpoint) {
  std::vector<WeightSource> sources;
  if (!parameter.is_bias) {
    sources = weight_sources(checkpoint, parameter.module);
  } else if (const StoredTensor* stored = checkpoint.find(parameter.name())) {
    sources = {{stored}};
  }
  if (sources.empty() && !parameter.tied_tensor.empty())
    if (const StoredTensor* stored = checkpoint.find(parameter.tied_tensor)) sources = {{stored}};
  if (sources.empty()) throw Error(checkpoint.dir, "no tensor named " + parameter.name());
  return sources;
}

// Offset in elements of a slice that is one piece of one stored tensor and needs no padding; -1 when it is not.
int64_t contiguous_begin(const Task& task) {
  const Parameter& parameter = *task.parameter;
  if (task.sources.size() != 1 || parameter.transposed) return -1;
  const ShardSlice& slice = parameter.slice;
  if (slice.whole()) return 0;
  const auto dim = static_cast<size_t>(slice.dim);
  int64_t before = 1, after = 1;
  for (size_t i = 0; i < dim; ++i) before *= parameter.stored_shape[i];
  for (size_t i = dim + 1; i < parameter.stored_shape.size(); ++i) after *= parameter.stored_shape[i];
  if (before != 1 || slice.runs.size() != 1 || slice.runs[0].count != slice.local_shape[dim]) return -1;
  return slice.runs[0].source_begin * after;
}

// Calls action(source index, target index, count) for what `runs` take of [begin, end) of the whole dimension; source indices
// count from `begin`.
template <class Action>
void for_each_overlap(const std::vector<SliceRun>& runs, int64_t begin, int64_t end, Action action) {
  for (const SliceRun& run : runs) {
    const int64_t from = std::max(begin, run.source_begin), to = std::min(end, run.source_begin + run.count);
    if (from < to) action(from - begin, run.target_begin + from - run.source_begin, to - from);
  }
}

// Copies a rank's part of one source to the local tensor of extents `local`.
void copy_source(const WeightSource& source, const std::byte* from, const Selection& selected, const Extents& local,
                 DType dtype, std::byte* to) {
  const TensorEntry& entry = source.tensor->entry;
  const Extents piece = extents(entry.shape);
  const int64_t expert_begin = std::max<int64_t>(0, source.expert);
  const auto copy = [&](int64_t source_element, int64_t target_element, int64_t count) {
    convert_elements(from + source_element * size_bytes(entry.dtype), entry.dtype, to + target_element * size_bytes(dtype),
                     dtype, count);
  };
  const bool whole_rows = selected[2].size() == 1 && selected[2][0].count == piece[2] && piece[2] == local[2];
  for_each_overlap(selected[0], expert_begin, expert_begin + piece[0],
                   [&](int64_t from_expert, int64_t to_expert, int64_t experts) {
                     for (int64_t expert = 0; expert < experts; ++expert) {
                       for_each_overlap(selected[1], source.row_begin, source.row_begin + piece[1],
                                        [&](int64_t from_row, int64_t to_row, int64_t rows) {
                                          const int64_t source_line = (from_expert + expert) * piece[1] + from_row;
                                          const int64_t target_line = (to_expert + expert) * local[1] + to_row;
                                          if (whole_rows)
                                            return copy(source_line * piece[2], target_line * local[2], rows * piece[2]);
                                          for (int64_t row = 0; row < rows; ++row)
                                            for (const SliceRun& run : selected[2])
                                              copy((source_line + row) * piece[2] + run.source_begin,
                                                   (target_line + row) * local[2] + run.target_begin, run.count);
                                        });
                     }
                   });
}

// Swaps rows and columns of each of the matrices of `extents` in place, element by element.
template <class Element>
void transpose(const Extents& extents, std::byte* data) {
  const auto [experts, rows, columns] = extents;
  std::vector<Element> matrix(static_cast<size_t>(rows * columns));
  for (int64_t expert = 0; expert < experts; ++expert) {
    std::byte* target = data + expert * rows * columns * static_cast<int64_t>(sizeof(Element));
    std::memcpy(matrix.data(), target, matrix.size() * sizeof(Element));
    auto* element = reinterpret_cast<Element*>(target);
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t row = 0; row < rows; ++row) *element++ = matrix[static_cast<size_t>(row * columns + column)];
  }
}

void copy_slice(const Task& task, const std::vector<MappedFile>& files, std::byte* target) {
  const Selection selected = selection(*task.parameter);
  const Extents local = extents(task.parameter->slice.local_shape);
  for (const WeightSource& source : task.sources) {
    const MappedFile& file = files[static_cast<size_t>(source.tensor->file)];
    const TensorEntry& entry = source.tensor->entry;
    copy_source(source, file.data() + entry.offset, selected, local, task.dtype, target);
    file.release(entry.offset, entry.size_bytes);
  }
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

// Runs `work(index)` for 0..count-1 on `threads` threads; the first exception is thrown again.
template <class Work>
void for_each_index(size_t count, int threads, Work work) {
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto run = [&] {
    for (size_t index = next++; index < count; index = next++) {
      try {
        work(index);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::jthread> helpers;
  for (int i = 1; i < threads; ++i) helpers.emplace_back(run);
  run();
  helpers.clear();
  if (failure) std::rethrow_exception(failure);
}

// Decides where every parameter comes to lie. Parameters with the same stored slice get the same task.
struct LoadPlan {
  std::vector<Task> tasks;
  std::vector<size_t> task_of;  // by ParamId
  int64_t block_bytes = 0, total_bytes = 0;
};

LoadPlan plan_load(const ParameterTable& table, const Checkpoint& checkpoint, DType dtype, bool in_place) {
  LoadPlan plan;
  std::map<std::pair<const StoredTensor*, int64_t>, size_t> known;
  for (ParamId id = 0; id < table.size(); ++id) {
    Task task{&table.at(id), find_sources(table.at(id), checkpoint)};
    const StoredTensor* stored = task.sources[0].tensor;
    const int64_t begin = contiguous_begin(task);
    if (const auto found = known.find({stored, begin});
        begin >= 0 && found != known.end() && plan.tasks[found->second].parameter->shape() == task.parameter->shape()) {
      plan.task_of.push_back(found->second);
      continue;
    }
    task.dtype = task.parameter->keep_float32 ? DType::kF32 : dtype;
    task.source_offset = stored->entry.offset + begin * size_bytes(stored->entry.dtype);
    // A header of any length may come before the data, so nothing in a file is aligned of itself.
    const bool aligned = task.source_offset % size_bytes(task.dtype) == 0;
    task.in_place = in_place && begin >= 0 && stored->entry.dtype == task.dtype && aligned;
    const int64_t size = task.target_bytes();
    if (!task.in_place) {
      task.block_offset = plan.block_bytes;
      plan.block_bytes += (size + kAlignment - 1) / kAlignment * kAlignment;
    }
    plan.total_bytes += size;
    if (begin >= 0) known.emplace(std::pair(stored, begin), plan.tasks.size());
    plan.task_of.push_back(plan.tasks.size());
    plan.tasks.push_back(std::move(task));
  }
  return plan;
}

}  // namespace

Weights Weights::load(const ParameterTable& table, const Checkpoint& checkpoint, DType dtype, const LoadOptions& options) {
  const LoadPlan plan = plan_load(table, checkpoint, dtype, options.in_place);
  Weights weights;
  weights.dtype_ = dtype;
  weights.total_bytes_ = plan.total_bytes;
  for (const auto& path : checkpoint.files) weights.files_.emplace_back(path);
  weights.block_ = allocate_block(plan.block_bytes);

  std::mutex mutex;
  int64_t done = 0;
  for_each_index(plan.tasks.size(), options.threads, [&](size_t index) {
    const Task& task = plan.tasks[index];
    const int64_t size = task.target_bytes();
    if (task.in_place) {
      weights.files_[static_cast<size_t>(task.sources[0].tensor->file)].prefetch(task.source_offset, size);
    } else {
      copy_slice(task, weights.files_, weights.block_.data() + task.block_offset);
    }
    const std::lock_guard lock(mutex);
    done += size;
    if (options.progress) options.progress(done, plan.total_bytes);
  });

  for (ParamId id = 0; id < table.size(); ++id) {
    const Task& task = plan.tasks[plan.task_of[static_cast<size_t>(id)]];
    weights.data_.push_back(task.in_place
                                ? weights.files_[static_cast<size_t>(task.sources[0].tensor->file)].data() + task.source_offset
                                : weights.block_.data() + task.block_offset);
  }
  return weights;
}

Weights::Weights(Weights&& other) noexcept
    : dtype_(other.dtype_),
      files_(std::move(other.files_)),
      data_(std::move(other.data_)),
      block_(std::exchange(other.block_, {})),
      total_bytes_(other.total_bytes_) {}

Weights::~Weights() {
  if (!block_.empty()) munmap(block_.data(), block_.size());
}

}  // namespace tp
