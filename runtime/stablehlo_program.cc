#include "runtime/stablehlo_program.h"

#include <algorithm>

namespace tp {
namespace {

constexpr int64_t kSmallestBucket = 16;

}  // namespace

std::vector<ParamId> tied_storage(const ModelConfig& config, const ParameterTable& table) {
  std::vector<ParamId> storage;
  for (ParamId id = 0; id < table.size(); ++id) {
    storage.push_back(id);
    const Parameter& parameter = table.at(id);
    if (!config.tie_word_embeddings || !parameter.tied || parameter.kind != WeightKind::kStored) continue;
    for (ParamId other = 0; other < id; ++other) {
      const Parameter& owner = table.at(other);
      const bool same = owner.name() == parameter.tied->weight_name() && owner.shape() == parameter.shape() &&
                        owner.slice.dim == parameter.slice.dim && owner.slice.runs == parameter.slice.runs;
      if (same) storage.back() = other;
    }
  }
  return storage;
}

HloProgram trace_program(const TraceSource& source, const std::string& name, const HloShape& shape, LogitsWanted wanted) {
  StableHloOps ops(source.config, source.table, source.storage, source.dtype, shape, source.tp_size, *source.kernels);
  return ops.finish(name, source.decoder.forward(ops, wanted));
}

std::vector<int64_t> prefill_buckets(int64_t cache_len) {
  std::vector<int64_t> buckets;
  for (int64_t bucket = kSmallestBucket; bucket < cache_len; bucket *= 2) buckets.push_back(bucket);
  buckets.push_back(cache_len);
  return buckets;
}

int64_t bucket_of(int64_t length, int64_t cache_len) {
  const std::vector<int64_t> buckets = prefill_buckets(cache_len);
  return *std::lower_bound(buckets.begin(), buckets.end() - 1, length);
}

HloProgram trace_prefill(const TraceSource& source, int64_t bucket, int64_t slots, int64_t cache_len, LogitsWanted wanted) {
  const std::string name = "prefill_" + std::to_string(bucket) + (wanted == LogitsWanted::kAll ? "_all" : "");
  return trace_program(source, name, {.rows = 1, .width = bucket, .slots = slots, .cache_len = cache_len}, wanted);
}

HloProgram trace_decode(const TraceSource& source, int64_t slots, int64_t cache_len) {
  const HloShape shape{.rows = slots, .width = 1, .slots = slots, .cache_len = cache_len};
  return trace_program(source, "decode", shape, LogitsWanted::kLast);
}

}  // namespace tp
