#include <cmath>
#include <vector>

#include "runtime/cpu/attention_task.h"
#include "runtime/cpu/buffer.h"

namespace tp::cpu {
namespace {

// Keys of one task. Fixed, so that the sums do not depend on the number of threads; long rows give every thread work.
constexpr int64_t kKeys = 256;

// What one part of the keys contributes to the queries of a group: [group] max and sum, then [group, value_dim].
struct Part {
  float* max;
  float* sum;
  float* mixed;
};

struct Parts {
  Parts(const AttentionCall& call, int64_t most)
      : group(call.group()), value_dim(call.cache.value_dim), per_head(most), floats(group * (value_dim + 2)) {}
  int64_t group, value_dim, per_head, floats;
  Part at(float* memory, int64_t row, int64_t kv_heads, int64_t kv_head, int64_t part) const {
    float* first = memory + ((row * kv_heads + kv_head) * per_head + part) * floats;
    return {first, first + group, first + 2 * group};
  }
};

Buffer& shared_scratch() {
  thread_local Buffer memory;
  return memory;
}

// Blocks [first, end) of kKeys that a row's position sees.
struct Blocks {
  int64_t first, end;
};
Blocks blocks_of(const AttentionCall& call, int64_t row) {
  const int64_t position = call.batch.start[row];
  return {call.first_key(position) / kKeys, position / kKeys + 1};
}

// scores [group, kKeys] times the scale of each key; of a cache that is not quantized they stay as they are.
void scale_scores(float* scores, int64_t group, int64_t keys, const float* scales) {
  if (scales == nullptr) return;
  for (int64_t g = 0; g < group; ++g) {
    for (int64_t j = 0; j < keys; ++j) scores[g * kKeys + j] *= scales[j];
  }
}

void attend_part(const AttentionCall& call, int64_t row, int64_t kv_head, int64_t block, const Part& part) {
  const int64_t group = call.group(), position = call.batch.start[row];
  const int64_t begin = std::max(call.first_key(position), block * kKeys), end = std::min(position + 1, (block + 1) * kKeys);
  thread_local Buffer memory;
  memory.reserve(group * (call.cache.head_dim + kKeys) * int64_t{sizeof(float)});
  float* queries = reinterpret_cast<float*>(memory.data());
  float* scores = queries + group * call.cache.head_dim;
  call.load_queries(row, kv_head, queries);
  call.kernels.score(
      {queries, call.keys(row, kv_head, begin), call.cache.dtype, group, end - begin, call.cache.head_dim, scores, kKeys});
  scale_scores(scores, group, end - begin, call.key_scales(row, kv_head, begin));
  for (int64_t g = 0; g < group; ++g) {
    const SoftmaxPart softmax = call.kernels.softmax(scores + g * kKeys, end - begin, call.rule.scale, call.rule.softcap);
    part.max[g] = softmax.max;
    part.sum[g] = softmax.sum;
  }
  scale_scores(scores, group, end - begin, call.value_scales(row, kv_head, begin));
  call.kernels.mix({scores, call.values(row, kv_head, begin), call.cache.dtype, group, end - begin, call.cache.value_dim, kKeys,
                    part.mixed});
}

// Joins the parts of a row's KV head in the order of their keys, into the first one's place.
void join_parts(const AttentionCall& call, int64_t row, int64_t kv_head, int64_t count, const Parts& parts, float* memory) {
  const Part first = parts.at(memory, row, call.cache.kv_heads, kv_head, 0);
  for (int64_t g = 0; g < parts.group; ++g) {
    const bool sink = call.rule.sinks != nullptr;
    const float sink_logit = sink ? call.rule.sinks[kv_head * parts.group + g] : 0.0F;
    float max = sink ? std::max(sink_logit, first.max[g]) : first.max[g];
    for (int64_t p = 1; p < count; ++p) max = std::max(max, parts.at(memory, row, call.cache.kv_heads, kv_head, p).max[g]);
    float sum = sink ? std::exp(sink_logit - max) : 0.0F;
    float* mixed = first.mixed + g * parts.value_dim;
    for (int64_t p = 0; p < count; ++p) {
      const Part part = parts.at(memory, row, call.cache.kv_heads, kv_head, p);
      const float weight = std::exp(part.max[g] - max);
      sum += weight * part.sum[g];
      const float* from = part.mixed + g * parts.value_dim;
      for (int64_t i = 0; i < parts.value_dim; ++i) mixed[i] = p == 0 ? weight * from[i] : mixed[i] + weight * from[i];
    }
    for (int64_t i = 0; i < parts.value_dim; ++i) mixed[i] /= sum;
  }
  call.store_results(row, kv_head * parts.group, parts.group, first.mixed);
}

}  // namespace

void attend_positions(const AttentionCall& call) {
  int64_t most = 0;
  for (int64_t row = 0; row < call.batch.rows; ++row) {
    const Blocks blocks = blocks_of(call, row);
    most = std::max(most, blocks.end - blocks.first);
  }
  const Parts parts(call, most);
  const int64_t heads = call.batch.rows * call.cache.kv_heads;
  Buffer& scratch = shared_scratch();
  scratch.reserve(heads * most * parts.floats * int64_t{sizeof(float)});
  float* memory = reinterpret_cast<float*>(scratch.data());
  call.context.pool.parallel_for(heads * most, [&](int64_t task) {
    const int64_t row = task / most / call.cache.kv_heads, kv_head = task / most % call.cache.kv_heads;
    const Blocks blocks = blocks_of(call, row);
    const int64_t block = blocks.first + task % most;
    if (block >= blocks.end) return;
    attend_part(call, row, kv_head, block, parts.at(memory, row, call.cache.kv_heads, kv_head, task % most));
  });
  for (int64_t head = 0; head < heads; ++head) {
    const int64_t row = head / call.cache.kv_heads;
    const Blocks blocks = blocks_of(call, row);
    join_parts(call, row, head % call.cache.kv_heads, blocks.end - blocks.first, parts, memory);
  }
}

}  // namespace tp::cpu
