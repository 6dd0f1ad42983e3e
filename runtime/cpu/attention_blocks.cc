#include <cstring>
#include <utility>

#include "runtime/cpu/attention_task.h"
#include "runtime/cpu/buffer.h"

namespace tp::cpu {
namespace {

// Keys of one step; blocks begin at multiples of it.
constexpr int64_t kKeys = 64;
// Queries (heads of a group times positions) side by side in one task, at least one position.
constexpr int64_t kLanes = 64;
// Below every score, above what masked keys get (row_kernels.h): the maximum of nothing.
constexpr float kNothing = -1.0e30F;

int64_t round_up(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}

// One task: up to `positions` positions of one row from `begin` on, with the heads of one group. Lane l is head l % group of
// position begin + l / group; the last panel of 16 lanes is filled with lanes that see nothing.
class QueryBlock {
 public:
  QueryBlock(const AttentionCall& call, int64_t row, int64_t kv_head, int64_t begin, int64_t positions)
      : call_(call),
        row_(row),
        kv_head_(kv_head),
        begin_(begin),
        positions_(positions),
        lanes_(call.group() * positions),
        lanes_padded_(round_up(lanes_, 16)),
        values_padded_(round_up(call.cache.value_dim, 16)) {
    allocate();
  }

  void run() {
    load_queries();
    for (int64_t lane = 0; lane < lanes_padded_; ++lane) {
      const bool sink = call_.rule.sinks != nullptr && lane < lanes_;
      max_[lane] = sink ? call_.rule.sinks[kv_head_ * call_.group() + lane % call_.group()] : kNothing;
      sum_[lane] = sink ? 1.0F : 0.0F;
    }
    std::memset(mixed_, 0, static_cast<size_t>(lanes_ * values_padded_) * sizeof(float));
    const int64_t first = call_.first_key(begin_) / kKeys * kKeys, end = begin_ + positions_;
    for (int64_t key = first; key < end; key += kKeys) {
      // Keys before the cache's written part do not exist: all of [0, end) was appended before.
      step(key, std::min(kKeys, end - key));
    }
    store();
  }

 private:
  void allocate() {
    const int64_t dim = call_.cache.head_dim, keys = std::max(kKeys, call_.group());
    const int64_t floats = (lanes_padded_ + keys) * dim + kKeys * (lanes_padded_ + values_padded_) + lanes_ * values_padded_ +
                           5 * lanes_padded_ + 10 * 16;
    thread_local Buffer memory;
    memory.reserve(floats * int64_t{sizeof(float)});
    std::byte* next = memory.data();
    const auto take = [&](int64_t count) { return std::exchange(next, next + round_up(count, 16) * int64_t{sizeof(float)}); };
    const auto floats_of = [&](int64_t count) { return reinterpret_cast<float*>(take(count)); };
    queries_ = floats_of(lanes_padded_ * dim);
    keys_ = floats_of(keys * dim);
    scores_ = floats_of(kKeys * lanes_padded_);
    values_ = floats_of(kKeys * values_padded_);
    mixed_ = floats_of(lanes_ * values_padded_);
    max_ = floats_of(lanes_padded_);
    sum_ = floats_of(lanes_padded_);
    shrink_ = floats_of(lanes_padded_);
    first_key_ = reinterpret_cast<int32_t*>(take(lanes_padded_));
    end_key_ = reinterpret_cast<int32_t*>(take(lanes_padded_));
  }

  // Panels [lanes / 16][head_dim][16].
  void load_queries() {
    const int64_t dim = call_.cache.head_dim, group = call_.group();
    std::memset(queries_, 0, static_cast<size_t>(lanes_padded_ * dim) * sizeof(float));
    for (int64_t p = 0; p < positions_; ++p) {
      call_.load_queries(line(p), kv_head_, keys_);  // keys_ is not needed yet
      for (int64_t g = 0; g < group; ++g) {
        const int64_t lane = p * group + g;
        float* to = queries_ + lane / 16 * 16 * dim + lane % 16;
        for (int64_t i = 0; i < dim; ++i) to[i * 16] = keys_[g * dim + i];
      }
    }
  }

  void step(int64_t key, int64_t count) {
    const int64_t dim = call_.cache.head_dim, value_dim = call_.cache.value_dim;
    load_keys(key, count);
    std::memset(scores_, 0, static_cast<size_t>(count * lanes_padded_) * sizeof(float));
    for (int64_t lane = 0; lane < lanes_padded_; lane += 16) {
      call_.kernels.strided_tile({queries_ + lane * dim, keys_, count, dim, dim, 1, scores_ + lane, lanes_padded_});
    }
    for (int64_t lane = 0; lane < lanes_padded_; ++lane) {
      const int64_t position = begin_ + lane / call_.group();
      first_key_[lane] = static_cast<int32_t>(std::clamp<int64_t>(call_.first_key(position) - key, 0, kKeys));
      end_key_[lane] = lane < lanes_ ? static_cast<int32_t>(std::clamp<int64_t>(position + 1 - key, 0, kKeys)) : 0;
    }
    call_.kernels.block_softmax(
        {scores_, count, lanes_padded_, call_.rule.scale, call_.rule.softcap, first_key_, end_key_, max_, sum_, shrink_});
    call_.kernels.scale_rows({mixed_, lanes_, values_padded_, values_padded_, shrink_});
    load_values(key, count);
    for (int64_t value = 0; value < value_dim; value += 16) {
      call_.kernels.strided_tile(
          {values_ + value * count, scores_, lanes_, count, 1, lanes_padded_, mixed_ + value, values_padded_});
    }
  }

  void load_keys(int64_t key, int64_t count) {
    const int64_t dim = call_.cache.head_dim;
    const std::byte* keys = call_.keys(row_, kv_head_, key);
    const float* scales = call_.key_scales(row_, kv_head_, key);
    if (scales == nullptr) return call_.kernels.convert(keys, call_.cache.dtype, count * dim, keys_, DType::kF32);
    for (int64_t j = 0; j < count; ++j)
      call_.kernels.widen(reinterpret_cast<const int8_t*>(keys) + j * dim, dim, scales[j], keys_ + j * dim);
  }

  // Panels [value_dim / 16][count][16].
  void load_values(int64_t key, int64_t count) {
    const int64_t value_dim = call_.cache.value_dim, bytes = call_.element_bytes();
    const float* scales = call_.value_scales(row_, kv_head_, key);
    for (int64_t value = 0; value < value_dim; value += 16) {
      const int64_t width = std::min<int64_t>(16, value_dim - value);
      if (width < 16) std::memset(values_ + value * count, 0, static_cast<size_t>(count * 16) * sizeof(float));
      for (int64_t j = 0; j < count; ++j) {
        const std::byte* from = call_.values(row_, kv_head_, key + j) + value * bytes;
        float* to = values_ + value * count + j * 16;
        if (scales == nullptr) {
          call_.kernels.convert(from, call_.cache.dtype, width, to, DType::kF32);
        } else {
          call_.kernels.widen(reinterpret_cast<const int8_t*>(from), width, scales[j], to);
        }
      }
    }
  }

  void store() {
    for (int64_t lane = 0; lane < lanes_; ++lane) shrink_[lane] = 1.0F / sum_[lane];
    call_.kernels.scale_rows({mixed_, lanes_, call_.cache.value_dim, values_padded_, shrink_});
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      call_.store_results(line(lane / call_.group()), kv_head_ * call_.group() + lane % call_.group(), 1,
                          mixed_ + lane * values_padded_);
    }
  }

  int64_t line(int64_t position_in_block) const {
    return row_ * call_.batch.width + begin_ - call_.batch.start[row_] + position_in_block;
  }

  const AttentionCall& call_;
  int64_t row_, kv_head_, begin_, positions_;
  int64_t lanes_, lanes_padded_, values_padded_;
  float *queries_ = nullptr, *keys_ = nullptr, *scores_ = nullptr, *values_ = nullptr, *mixed_ = nullptr;
  float *max_ = nullptr, *sum_ = nullptr, *shrink_ = nullptr;
  int32_t *first_key_ = nullptr, *end_key_ = nullptr;
};

}  // namespace

void attend_blocks(const AttentionCall& call) {
  const int64_t positions = std::max<int64_t>(1, kLanes / call.group());
  const int64_t blocks = (call.batch.width + positions - 1) / positions;
  call.context.pool.parallel_for(call.batch.rows * call.cache.kv_heads * blocks, [&](int64_t task) {
    const int64_t row = task / (call.cache.kv_heads * blocks), kv_head = task / blocks % call.cache.kv_heads;
    // The last blocks see the most keys: first, so that the tasks end together.
    const int64_t first = (blocks - 1 - task % blocks) * positions;
    const int64_t count = std::min(positions, call.batch.length[row] - first);
    if (count > 0) QueryBlock(call, row, kv_head, call.batch.start[row] + first, count).run();
  });
}

}  // namespace tp::cpu
