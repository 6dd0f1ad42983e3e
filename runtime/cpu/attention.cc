#include "runtime/cpu/attention.h"

#include <cstring>

#include "runtime/cpu/attention_task.h"
#include "runtime/cpu/buffer.h"
#include "runtime/cpu/integer_rows.h"
#include "runtime/float_convert.h"

namespace tp::cpu {

namespace {

// One head of one position, to index `at` of its cache.
void store_head(const void* from, DType dtype, int64_t dim, void* cache, DType cache_dtype, float* scales, int64_t at) {
  auto* to = static_cast<std::byte*>(cache) + at * dim * size_bytes(cache_dtype);
  if (cache_dtype != DType::kI8) {
    std::memcpy(to, from, static_cast<size_t>(dim * size_bytes(dtype)));
    return;
  }
  thread_local Buffer memory;
  memory.reserve(dim * int64_t{sizeof(float)});
  float* wide = reinterpret_cast<float*>(memory.data());
  convert_elements(from, dtype, wide, DType::kF32, dim);
  scales[at] = quantize_numbers(wide, dim, largest_of(wide, dim), reinterpret_cast<int8_t*>(to));
}

}  // namespace

void append_to_cache(ConstRows k, ConstRows v, const AttentionBatch& batch, const LayerCache& cache, const Context& context) {
  const int64_t k_bytes = cache.head_dim * size_bytes(k.dtype), v_bytes = cache.value_dim * size_bytes(v.dtype);
  const auto append = [&](int64_t row, int64_t t) {
    const std::byte* from_k = static_cast<const std::byte*>(k.row(row * batch.width + t));
    const std::byte* from_v = static_cast<const std::byte*>(v.row(row * batch.width + t));
    for (int64_t head = 0; head < cache.kv_heads; ++head) {
      const int64_t at = (batch.slot[row] * cache.kv_heads + head) * cache.cache_len + batch.start[row] + t;
      store_head(from_k + head * k_bytes, k.dtype, cache.head_dim, cache.k, cache.dtype, cache.k_scales, at);
      store_head(from_v + head * v_bytes, v.dtype, cache.value_dim, cache.v, cache.dtype, cache.v_scales, at);
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
