#include "runtime/weights.h"

#include <sys/mman.h>

#include <atomic>
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

// A stored tensor seen as [before, cut, after] around its cut dimension.
struct Extents {
  int64_t before = 1, cut = 1, after = 1;
};

Extents extents(const std::vector<int64_t>& shape, int dim) {
  Extents result;
  for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
    const int64_t size = shape[static_cast<size_t>(i)];
    (i < dim ? result.before : i == dim ? result.cut : result.after) *= size;
  }
  return result;
}

// How one parameter is loaded.
struct Task {
  const Parameter* parameter = nullptr;
  const StoredTensor* stored = nullptr;
  bool in_place = false;
  int64_t source_offset = 0;  // in_place: of the slice's first byte in the file
  int64_t block_offset = 0;   // otherwise: in the block
};

const StoredTensor& find_stored(const Parameter& parameter, const Checkpoint& checkpoint) {
  const StoredTensor* stored = checkpoint.find(parameter.tensor);
  if (stored == nullptr && !parameter.tied_tensor.empty()) stored = checkpoint.find(parameter.tied_tensor);
  if (stored == nullptr) throw Error(checkpoint.dir, "no tensor named " + parameter.tensor);
  return *stored;
}

// Offset in elements of a slice that is one piece of its tensor and needs no padding; -1 when it is not.
int64_t contiguous_begin(const Parameter& parameter) {
  const ShardSlice& slice = parameter.slice;
  if (slice.whole()) return 0;
  const Extents stored = extents(parameter.stored_shape, slice.dim);
  const int64_t local_cut = slice.local_shape[static_cast<size_t>(slice.dim)];
  if (stored.before != 1 || slice.runs.size() != 1 || slice.runs[0].count != local_cut) return -1;
  return slice.runs[0].source_begin * stored.after;
}

void copy_slice(const Task& task, const std::byte* source, DType to_dtype, std::byte* target) {
  const TensorEntry& entry = task.stored->entry;
  const ShardSlice& slice = task.parameter->slice;
  if (slice.whole()) {
    convert_elements(source, entry.dtype, target, to_dtype, task.parameter->elements());
    return;
  }
  const Extents stored = extents(task.parameter->stored_shape, slice.dim);
  const int64_t local_cut = slice.local_shape[static_cast<size_t>(slice.dim)];
  for (int64_t outer = 0; outer < stored.before; ++outer) {
    for (const SliceRun& run : slice.runs) {
      const int64_t from = (outer * stored.cut + run.source_begin) * stored.after;
      const int64_t to = (outer * local_cut + run.target_begin) * stored.after;
      convert_elements(source + from * size_bytes(entry.dtype), entry.dtype, target + to * size_bytes(to_dtype), to_dtype,
                       run.count * stored.after);
    }
  }
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
    const Parameter& parameter = table.at(id);
    const StoredTensor& stored = find_stored(parameter, checkpoint);
    const int64_t begin = contiguous_begin(parameter);
    const auto key = std::pair(&stored, begin);
    if (auto found = known.find(key);
        begin >= 0 && found != known.end() && plan.tasks[found->second].parameter->shape() == parameter.shape()) {
      plan.task_of.push_back(found->second);
      continue;
    }
    Task task{&parameter, &stored};
    task.source_offset = stored.entry.offset + begin * size_bytes(stored.entry.dtype);
    task.in_place = in_place && begin >= 0 && stored.entry.dtype == dtype && task.source_offset % size_bytes(dtype) == 0;
    const int64_t size = parameter.elements() * size_bytes(dtype);
    if (!task.in_place) {
      task.block_offset = plan.block_bytes;
      plan.block_bytes += (size + kAlignment - 1) / kAlignment * kAlignment;
    }
    plan.total_bytes += size;
    if (begin >= 0) known.emplace(key, plan.tasks.size());
    plan.task_of.push_back(plan.tasks.size());
    plan.tasks.push_back(task);
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
    const MappedFile& file = weights.files_[static_cast<size_t>(task.stored->file)];
    const int64_t size = task.parameter->elements() * size_bytes(dtype);
    if (task.in_place) {
      file.prefetch(task.source_offset, size);
    } else {
      const TensorEntry& entry = task.stored->entry;
      copy_slice(task, file.data() + entry.offset, dtype, weights.block_.data() + task.block_offset);
      file.release(entry.offset, entry.size_bytes);
    }
    const std::lock_guard lock(mutex);
    done += size;
    if (options.progress) options.progress(done, plan.total_bytes);
  });

  for (ParamId id = 0; id < table.size(); ++id) {
    const Task& task = plan.tasks[plan.task_of[static_cast<size_t>(id)]];
    weights.data_.push_back(task.in_place ? weights.files_[static_cast<size_t>(task.stored->file)].data() + task.source_offset
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
