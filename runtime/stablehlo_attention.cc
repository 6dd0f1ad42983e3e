#include <limits>

#include "runtime/ops_stablehlo.h"

// Attention over the static cache, in plain StableHLO.
namespace tp {

using Kind = HloInput::Kind;

// A dynamic_update_slice that reaches past the end of the cache is moved back, as a bucket's may with its padding. So the
// window is moved back here, and old values are kept wherever it holds no real position.
const StableHloOps::RowWrite& StableHloOps::row_write(int64_t row) {
  const auto found = row_writes_.find(row);
  if (found != row_writes_.end()) return found->second;
  const int64_t width = shape_.width;
  const HloType scalar{DType::kI32, {}};
  const Hlo start = row_scalar(Kind::kStart, "start", row), length = row_scalar(Kind::kLength, "length", row);
  RowWrite write;
  write.slot = shape_.rows_are_slots() ? hlo_.constant(static_cast<double>(row), scalar) : row_scalar(Kind::kSlot, "slot", row);
  write.begin = hlo_.binary("minimum", start, static_cast<double>(shape_.cache_len - width));
  const Hlo skip = hlo_.binary("subtract", start, write.begin), end = hlo_.binary("add", skip, length);
  write.from = hlo_.binary("subtract", hlo_.constant(static_cast<double>(width), scalar), skip);
  const Hlo position = hlo_.iota({DType::kI32, {width}}, 0);
  write.real = hlo_.binary("and", hlo_.compare("GE", position, hlo_.broadcast(skip, {}, {width})),
                           hlo_.compare("LT", position, hlo_.broadcast(end, {}, {width})));
  return row_writes_[row] = write;
}

// The layer's cache with `values` [rows, width, heads * dim] written at each row's real positions.
Hlo StableHloOps::updated_cache(Kind kind, int layer, const Hlo& values, int64_t heads) {
  const int64_t rows = shape_.rows, width = shape_.width, dim = values.dim(2) / heads;
  const HloType type{dtype_, {shape_.slots, heads, shape_.cache_len, dim}};
  const char* prefix = kind == Kind::kCacheK ? "cache_k." : "cache_v.";
  Hlo cache = argument(kind, layer, prefix + std::to_string(layer), type);
  const Hlo fresh = hlo_.transpose(hlo_.reshape(values, {rows, width, heads, dim}), {0, 2, 1, 3});
  const Hlo zero = hlo_.constant(0, {DType::kI32, {}});
  const std::vector<int64_t> window{1, heads, width, dim};
  for (int64_t row = 0; row < rows; ++row) {
    const RowWrite& write = row_write(row);
    Hlo update = hlo_.slice(fresh, 0, row, row + 1);
    if (width > 1) update = hlo_.dynamic_slice(hlo_.pad(update, 2, width, 0), {zero, zero, write.from, zero}, window);
    const std::vector<Hlo> at{write.slot, zero, write.begin, zero};
    const Hlo old = hlo_.dynamic_slice(cache, at, window);
    cache = hlo_.dynamic_update_slice(cache, hlo_.select(hlo_.broadcast(write.real, {2}, window), update, old), at);
  }
  caches_.push_back({{kind, layer, type}, cache});
  return cache;
}

// [rows, heads, cache_len, dim]: each row's slot.
Hlo StableHloOps::cached_rows(const Hlo& cache) {
  if (shape_.rows_are_slots()) return cache;
  const Hlo zero = hlo_.constant(0, {DType::kI32, {}});
  const Hlo slot = row_scalar(Kind::kSlot, "slot", 0);
  return hlo_.dynamic_slice(cache, {slot, zero, zero, zero}, {1, cache.dim(1), cache.dim(2), cache.dim(3)});
}

// Which cached position each position of the call may see: bool [rows, width, cache_len].
Hlo StableHloOps::visible(int64_t window, bool chunked) {
  const auto found = visible_.find({window, chunked});
  if (found != visible_.end()) return found->second;
  const HloType type{DType::kI32, {shape_.rows, shape_.width, shape_.cache_len}};
  const Hlo start = hlo_.broadcast(per_row(Kind::kStart, "start"), {0}, type.dims);
  const Hlo query = hlo_.binary("add", start, hlo_.iota(type, 1)), key = hlo_.iota(type, 2);
  Hlo seen = hlo_.compare("LE", key, query);
  if (chunked) {
    const Hlo size = hlo_.constant(static_cast<double>(window), type);
    const Hlo first = hlo_.binary("multiply", hlo_.binary("divide", query, size), size);
    seen = hlo_.binary("and", seen, hlo_.compare("GE", key, first));
  } else if (window > 0) {
    const Hlo oldest = hlo_.binary("subtract", query, static_cast<double>(window));
    seen = hlo_.binary("and", seen, hlo_.compare("GT", key, oldest));
  }
  return visible_[{window, chunked}] = seen;
}

// What its form does not cover, and every prefill, is built in.
const ChosenKernel* StableHloOps::decode_kernel(const std::string& op, const AttentionSpec& spec) {
  if (shape_.width > 1 || !shape_.rows_are_slots()) return nullptr;
  const bool plain = spec.sinks == kNoParam && spec.softcap == 0.0 && spec.window == 0 && spec.v_head_dim == spec.head_dim;
  return kernel_for(op, {{"rows", std::to_string(shape_.rows)},
                         {"heads", std::to_string(spec.heads_local)},
                         {"kv_heads", std::to_string(spec.kv_heads_local)},
                         {"head_dim", std::to_string(spec.head_dim)},
                         {"cache_len", std::to_string(shape_.cache_len)},
                         {"dtype", std::string(torch_name(dtype_)) + (plain ? "" : " of another form")},
                         {"scale", match_number(spec.scale)}});
}

Value StableHloOps::append_attention(const ChosenKernel& kernel, const Hlo& q, const Hlo& k, const Hlo& v,
                                     const AttentionSpec& spec) {
  const int64_t rows = shape_.rows, heads = spec.kv_heads_local;
  const HloType type{dtype_, {rows, heads, shape_.cache_len, spec.head_dim}};
  const std::string layer = std::to_string(spec.layer);
  const Hlo k_cache = argument(Kind::kCacheK, spec.layer, "cache_k." + layer, type);
  const Hlo v_cache = argument(Kind::kCacheV, spec.layer, "cache_v." + layer, type);
  const Hlo queries = hlo_.reshape(q, {rows, spec.heads_local, spec.head_dim});
  const std::vector<Hlo> results =
      call_kernel(kernel, "append_attention",
                  {queries, hlo_.reshape(k, {rows, heads, spec.head_dim}), hlo_.reshape(v, {rows, heads, spec.head_dim}),
                   k_cache, v_cache, per_row(Kind::kStart, "start"), per_row(Kind::kLength, "length")},
                  {queries.type, type, type});
  caches_.push_back({{Kind::kCacheK, spec.layer, type}, results[1]});
  caches_.push_back({{Kind::kCacheV, spec.layer, type}, results[2]});
  return std::make_shared<Hlo>(hlo_.reshape(results[0], q.type.dims));
}

Value StableHloOps::attention(const Value& q, const Value& k, const Value& v, const AttentionSpec& spec) {
  const auto& queries = static_cast<const Hlo&>(*q);
  hlo_.comment("attention of layer " + std::to_string(spec.layer));
  const int64_t heads = spec.kv_heads_local, group = spec.heads_local / heads;
  const int64_t rows = shape_.rows, width = shape_.width, keys = shape_.cache_len, dim = queries.dim(2) / spec.heads_local;
  if (const ChosenKernel* kernel = decode_kernel("append_attention", spec))
    return append_attention(*kernel, queries, static_cast<const Hlo&>(*k), static_cast<const Hlo&>(*v), spec);
  const Hlo k_cache = cached_rows(updated_cache(Kind::kCacheK, spec.layer, static_cast<const Hlo&>(*k), heads));
  const Hlo v_cache = cached_rows(updated_cache(Kind::kCacheV, spec.layer, static_cast<const Hlo&>(*v), heads));

  if (const ChosenKernel* kernel = decode_kernel("decode_attention", spec)) {
    // A row that is not in flight sees one position too: whatever comes out is finite.
    const Hlo length = hlo_.binary("add", per_row(Kind::kStart, "start"), 1.0);
    const Hlo by_head = hlo_.reshape(queries, {rows, spec.heads_local, dim});
    const Hlo mixed = call_kernel(*kernel, "decode_attention", {by_head, k_cache, v_cache, length}, {by_head.type})[0];
    return std::make_shared<Hlo>(hlo_.reshape(mixed, queries.type.dims));
  }

  // Queries of the heads that share a KV head make one matrix.
  Hlo grouped = hlo_.transpose(hlo_.reshape(queries, {rows, width, heads, group, dim}), {0, 2, 3, 1, 4});
  grouped = hlo_.reshape(grouped, {rows, heads, group * width, dim});
  Hlo scores = hlo_.dot(grouped, k_cache, {0, 1}, {0, 1}, 3, 3, DType::kF32);
  scores = hlo_.binary("multiply", scores, spec.scale);
  if (spec.softcap != 0.0) {
    scores = hlo_.binary("multiply", hlo_.unary("tanh", hlo_.binary("divide", scores, spec.softcap)), spec.softcap);
  }
  const std::vector<int64_t> split{rows, heads, group, width, keys};
  scores = hlo_.reshape(scores, split);
  const Hlo mask = hlo_.broadcast(visible(spec.window, spec.chunked), {0, 3, 4}, split);
  scores = hlo_.select(mask, scores, hlo_.constant(-std::numeric_limits<double>::infinity(), scores.type));
  const auto over_keys = [&](const Hlo& per_query) { return hlo_.broadcast(per_query, {0, 1, 2, 3}, split); };
  Hlo largest = hlo_.reduce("maximum", scores, 4, -std::numeric_limits<double>::infinity());
  Hlo sinks;
  if (spec.sinks != kNoParam) {
    const Hlo by_head = hlo_.convert(hlo_.reshape(parameter(spec.sinks), {heads, group}), DType::kF32);
    sinks = hlo_.broadcast(by_head, {1, 2}, largest.type.dims);
    largest = hlo_.binary("maximum", largest, sinks);
  }
  const Hlo weights = hlo_.unary("exponential", hlo_.binary("subtract", scores, over_keys(largest)));
  Hlo total = hlo_.reduce("add", weights, 4, 0);
  if (spec.sinks != kNoParam) {
    total = hlo_.binary("add", total, hlo_.unary("exponential", hlo_.binary("subtract", sinks, largest)));
  }
  const Hlo probabilities = hlo_.binary("divide", weights, over_keys(total));

  const Hlo matrix = hlo_.reshape(probabilities, {rows, heads, group * width, keys});
  const Hlo mixed = hlo_.dot(matrix, hlo_.convert(v_cache, DType::kF32), {0, 1}, {0, 1}, 3, 2, DType::kF32);
  const int64_t v_dim = v_cache.dim(3);
  const Hlo by_position = hlo_.transpose(hlo_.reshape(mixed, {rows, heads, group, width, v_dim}), {0, 3, 1, 2, 4});
  return rounded(hlo_.reshape(by_position, {rows, width, spec.heads_local * v_dim}));
}

}  // namespace tp
