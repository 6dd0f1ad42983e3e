#include "runtime/engine_eager.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

#include "runtime/batch_check.h"
#include "runtime/decoder.h"
#include "runtime/ops_eager.h"
#include "sharding/error.h"

namespace tp {
namespace {

std::vector<LayerCache> allocate_cache(const RankModel& model, const std::vector<AttentionSpec>& specs, int64_t slots,
                                       int64_t cache_len) {
  std::vector<LayerCache> cache;
  const auto dtype = scalar_type(model.weights.dtype());
  // Empty, not zeros: a page of the cache costs memory only once a position is written there.
  const auto allocate = [&](int64_t heads, int64_t dim) { return at::empty({slots, heads, cache_len, dim}, dtype); };
  try {
    for (const AttentionSpec& spec : specs)
      cache.push_back({allocate(spec.kv_heads_local, spec.head_dim), allocate(spec.kv_heads_local, spec.v_head_dim)});
  } catch (const c10::Error&) {
    throw Error(
        "", "cannot allocate a cache of " + std::to_string(slots) + " prompts of " + std::to_string(cache_len) + " positions",
        "lower --batch, --cache-len or --max-new-tokens");
  }
  return cache;
}

// The batch without columns that are padding in every row: buckets matter to compiled engines only.
Batch trimmed(const Batch& batch) {
  const int64_t width = *std::max_element(batch.length.begin(), batch.length.end());
  Batch result = batch;
  result.width = width;
  result.ids.clear();
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto begin = batch.ids.begin() + row * batch.width;
    result.ids.insert(result.ids.end(), begin, begin + width);
  }
  return result;
}

class EagerEngine : public Engine {
 public:
  EagerEngine(const RankModel& model, Communicator& communicator, int64_t slots, int64_t cache_len)
      : model_(model),
        slots_(slots),
        cache_len_(cache_len),
        decoder_(model.config, model.table, model.weights.dtype()),
        ops_(model.config, model.table, model.weights, allocate_cache(model, decoder_.attention_specs(), slots, cache_len),
             communicator) {}

  Logits forward(const Batch& batch, LogitsWanted wanted) override {
    check_batch(batch, model_.config.vocab_size, slots_, cache_len_);
    const Batch real = trimmed(batch);
    const c10::InferenceMode inference;
    try {
      ops_.begin(real);
      const Value value = decoder_.forward(ops_, wanted);
      const at::Tensor logits = static_cast<const EagerValue&>(*value).tensor.contiguous();
      Logits result{real.rows, wanted == LogitsWanted::kLast ? 1 : real.width, logits.size(1)};
      const float* data = logits.const_data_ptr<float>();
      result.data.assign(data, data + logits.numel());
      return result;
    } catch (const c10::Error& error) {
      throw Error("libtorch", error.what_without_backtrace());
    }
  }

  int64_t cache_len() const override { return cache_len_; }
  int64_t slots() const override { return slots_; }
  int64_t cache_bytes() const override {
    int64_t features = 0;
    for (const AttentionSpec& spec : decoder_.attention_specs())
      features += spec.kv_heads_local * (spec.head_dim + spec.v_head_dim);
    return features * slots_ * cache_len_ * size_bytes(model_.weights.dtype());
  }

 private:
  const RankModel& model_;
  int64_t slots_, cache_len_;
  Decoder decoder_;
  EagerOps ops_;
};

}  // namespace

std::unique_ptr<Engine> make_eager_engine(const RankModel& model, Communicator& communicator, int64_t slots,
                                          int64_t cache_len) {
  return std::make_unique<EagerEngine>(model, communicator, slots, cache_len);
}

void set_eager_threads(int threads) {
  at::set_num_threads(threads);
}

}  // namespace tp
