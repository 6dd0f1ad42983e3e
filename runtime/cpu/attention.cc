#include "runtime/cpu/attention.h"

#include <cstring>

#include "runtime/cpu/attention_task.h"

namespace tp::cpu {

void append_to_cache(ConstRows k, ConstRows v, const AttentionBatch& batch, const LayerCache& cache, const Context& context) {
  const int64_t element_bytes = cache.dtype == DType::kF32 ? 4 : 2;
  const int64_t k_bytes = cache.head_dim * element_bytes, v_bytes = cache.value_dim * element_bytes;
  const auto append = [&](int64_t row, int64_t t) {
    const std::byte* from_k = static_cast<const std::byte*>(k.row(row * batch.width + t));
    const std::byte* from_v = static_cast<const std::byte*>(v.row(row * batch.width + t));
    for (int64_t head = 0; head < cache.kv_heads; ++head) {
      const int64_t at = (batch.slot[row] * cache.kv_heads + head) * cache.cache_len + batch.start[row] + t;
      std::memcpy(static_cast<std::byte*>(cache.k) + at * k_bytes, from_k + head * k_bytes, static_cast<size_t>(k_bytes));
      std::memcpy(static_cast<std::byte*>(cache.v) + at * v_bytes, from_v + head * v_bytes, static_cast<size_t>(v_bytes));
    }
  };
  // Rows of the call that are worth a task.
  constexpr int64_t kLines = 16;
  const int64_t lines = batch.rows * batch.width;
  context.pool.parallel_for((lines + kLines - 1) / kLines, [&](int64_t task) {
    for (int64_t line = task * kLines; line < std::min(lines, (task + 1) * kLines); ++line) {
      if (line % batch.width < batch.length[line / batch.width]) append(line / batch.width, line % batch.width);
    }
  });
}

void attend(ConstRows q, const AttentionBatch& batch, const LayerCache& cache, const AttentionRule& rule, Rows out,
            const Context& context) {
  const AttentionCall call{q, batch, cache, rule, out, context, row_kernels(context.kernels.vector)};
  if (batch.width == 1) {
    attend_positions(call);
    return;
  }
  const size_t line_bytes = static_cast<size_t>(rule.heads * cache.value_dim * (out.dtype == DType::kF32 ? 4 : 2));
  for (int64_t row = 0; row < batch.rows; ++row) {
    for (int64_t t = batch.length[row]; t < batch.width; ++t) std::memset(out.row(row * batch.width + t), 0, line_bytes);
  }
  attend_blocks(call);
}

}  // namespace tp::cpu
