#include "runtime/eager_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

#include "runtime/cpu_kernels.h"
#include "runtime/eager_tensor.h"

namespace tp {
namespace {

// Up to this many positions a row's attention runs position by position straight from the cache; above it as matrix
// products.
constexpr int64_t kFewPositions = 4;
// Floats of scores that one block of queries may take.
constexpr int64_t kScoreFloats = int64_t{1} << 22;
// Multiplications that are worth a thread of their own.
constexpr int64_t kGrainProducts = 1 << 15;

struct KeyRange {
  int64_t begin, end;
};

KeyRange visible_keys(int64_t position, int64_t window) {
  return {window > 0 ? std::max<int64_t>(0, position - window + 1) : 0, position + 1};
}

void write_positions(const at::Tensor& cache, const Batch& batch, const at::Tensor& values) {
  const int64_t heads = cache.size(1), cache_len = cache.size(2), dim = cache.size(3);
  const size_t element = static_cast<size_t>(cache.element_size()), head_bytes = static_cast<size_t>(dim) * element;
  char* to = static_cast<char*>(cache.mutable_data_ptr());
  const char* from = static_cast<const char*>(values.const_data_ptr());
  const size_t row_bytes = static_cast<size_t>(values.stride(0)) * element;
  for (int64_t b = 0; b < batch.rows; ++b) {
    const size_t row = static_cast<size_t>(b);
    for (int64_t t = 0; t < batch.length[row]; ++t) {
      for (int64_t head = 0; head < heads; ++head) {
        const int64_t target = (batch.slot[row] * heads + head) * cache_len + batch.start[row] + t;
        const char* source =
            from + static_cast<size_t>(b * batch.width + t) * row_bytes + static_cast<size_t>(head) * head_bytes;
        std::memcpy(to + static_cast<size_t>(target) * head_bytes, source, head_bytes);
      }
    }
  }
}

const char* head_data(const at::Tensor& cache, int64_t slot, int64_t head, int64_t position) {
  const int64_t index = ((slot * cache.size(1) + head) * cache.size(2) + position) * cache.size(3);
  return static_cast<const char*>(cache.const_data_ptr()) + index * cache.element_size();
}

// One row, position by position and KV head by KV head.
void attend_positions(const LayerCache& cache, const Batch& batch, int64_t row, const at::Tensor& q, const AttentionSpec& spec,
                      const float* sinks, at::Tensor& out) {
  const size_t b = static_cast<size_t>(row);
  const int64_t heads = spec.kv_heads_local, group = spec.heads_local / heads;
  const int64_t dim = cache.k.size(3), dim_v = cache.v.size(3), keys_most = batch.start[b] + batch.length[b];
  const int64_t grain = std::max<int64_t>(1, kGrainProducts / (keys_most * dim * group));
  at::parallel_for(0, batch.length[b] * heads, grain, [&](int64_t begin, int64_t end) {
    std::vector<float> scores(static_cast<size_t>(group * keys_most));
    for (int64_t task = begin; task < end; ++task) {
      const int64_t t = task / heads, head = task % heads, line = row * batch.width + t;
      const KeyRange keys = visible_keys(batch.start[b] + t, spec.window);
      GroupAttention attention;
      attention.q = q.const_data_ptr<float>() + (line * heads + head) * group * dim;
      attention.group = group;
      attention.k = head_data(cache.k, batch.slot[b], head, keys.begin);
      attention.v = head_data(cache.v, batch.slot[b], head, keys.begin);
      attention.dtype = dtype_of(cache.k);
      attention.keys = keys.end - keys.begin;
      attention.dim = dim;
      attention.dim_v = dim_v;
      attention.scale = static_cast<float>(spec.scale);
      attention.softcap = static_cast<float>(spec.softcap);
      attention.sinks = sinks ? sinks + head * group : nullptr;
      attend(attention, scores.data(), out.mutable_data_ptr<float>() + (line * heads + head) * group * dim_v);
    }
  });
}

// Softmax of scores [kv_heads, group, queries, keys] in place; what a query must not see becomes 0. Query i is at position
// `first_position` + i, key j at `first_key` + j.
void mask_and_softmax(at::Tensor& scores, int64_t first_position, int64_t first_key, int64_t window, const float* sinks) {
  const int64_t queries = scores.size(2), keys = scores.size(3);
  float* data = scores.mutable_data_ptr<float>();
  at::parallel_for(0, scores.numel() / keys, std::max<int64_t>(1, kGrainProducts / keys), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const KeyRange seen = visible_keys(first_position + line % queries, window);
      const int64_t from = std::max<int64_t>(0, seen.begin - first_key), to = seen.end - first_key;
      float* row = data + line * keys;
      std::fill(row, row + from, 0.0f);
      std::fill(row + to, row + keys, 0.0f);
      softmax_in_place(row + from, to - from, sinks ? sinks + line / queries : nullptr);
    }
  });
}

// One row as matrix products, a block of queries at a time. K and V of 16 bits are widened once.
void attend_blocks(const LayerCache& cache, const Batch& batch, int64_t row, const at::Tensor& q, const AttentionSpec& spec,
                   const float* sinks, at::Tensor& out) {
  const size_t b = static_cast<size_t>(row);
  const int64_t heads = spec.kv_heads_local, group = spec.heads_local / heads, dim = cache.k.size(3), dim_v = cache.v.size(3);
  const int64_t start = batch.start[b], length = batch.length[b];
  const int64_t first = visible_keys(start, spec.window).begin;
  const auto keys_of = [&](const at::Tensor& whole) {
    return whole.select(0, batch.slot[b]).narrow(1, first, start + length - first).to(at::kFloat);
  };
  const at::Tensor k = keys_of(cache.k), v = keys_of(cache.v);
  const int64_t block = std::max<int64_t>(16, kScoreFloats / (spec.heads_local * (start + length)));
  for (int64_t begin = 0; begin < length; begin += block) {
    const int64_t count = std::min(block, length - begin), line = row * batch.width + begin;
    const int64_t key_begin = visible_keys(start + begin, spec.window).begin, key_end = start + begin + count;
    const at::Tensor queries =
        q.narrow(0, line, count).view({count, heads, group, dim}).permute({1, 2, 0, 3}).reshape({heads, group * count, dim});
    at::Tensor scores = at::bmm(queries, k.narrow(1, key_begin - first, key_end - key_begin).transpose(1, 2));
    scores.mul_(spec.scale);
    if (spec.softcap != 0.0) scores.div_(spec.softcap).tanh_().mul_(spec.softcap);
    at::Tensor split = scores.view({heads, group, count, key_end - key_begin});
    mask_and_softmax(split, start + begin, key_begin, spec.window, sinks);
    const at::Tensor mixed = at::bmm(scores, v.narrow(1, key_begin - first, key_end - key_begin));
    out.narrow(0, line, count)
        .view({count, heads, group, dim_v})
        .copy_(mixed.view({heads, group, count, dim_v}).permute({2, 0, 1, 3}));
  }
}

}  // namespace

void append_to_cache(const LayerCache& cache, const Batch& batch, const at::Tensor& k, const at::Tensor& v) {
  write_positions(cache.k, batch, k);
  write_positions(cache.v, batch, v);
}

at::Tensor attend_over_cache(const LayerCache& cache, const Batch& batch, const at::Tensor& q, const AttentionSpec& spec,
                             const at::Tensor& sinks) {
  at::Tensor out = at::zeros({q.size(0), spec.heads_local * cache.v.size(3)}, q.options());
  const float* sink_data = sinks.defined() ? sinks.const_data_ptr<float>() : nullptr;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const bool few = batch.length[static_cast<size_t>(row)] <= kFewPositions;
    (few ? attend_positions : attend_blocks)(cache, batch, row, q, spec, sink_data, out);
  }
  return out;
}

}  // namespace tp
