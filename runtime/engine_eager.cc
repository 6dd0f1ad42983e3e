#include "runtime/engine_eager.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/batch_check.h"
#include "runtime/cpu/kernel_choice.h"
#include "runtime/decoder.h"
#include "runtime/ops_eager.h"
#include "runtime/traced_ops.h"
#include "sharding/error.h"

namespace tp {
namespace {

// Ranks that compute the same replicated value with other kernels would get other bits: rank 0 chooses, among what all have.
cpu::KernelChoice agree_on_kernels(cpu::ThreadPool& pool, Communicator& communicator) {
  int64_t mine = 0;
  for (cpu::Isa isa : cpu::available_isas()) mine |= int64_t{1} << static_cast<int>(isa);
  int64_t all = mine;
  for (int64_t theirs : communicator.collect(mine)) all &= theirs;
  std::vector<cpu::Isa> allowed;
  for (cpu::Isa isa : cpu::available_isas())
    if ((all >> static_cast<int>(isa) & 1) != 0) allowed.push_back(isa);
  cpu::KernelChoice choice;
  if (communicator.rank() == 0) choice = cpu::choose_kernels(allowed, pool);
  communicator.broadcast(&choice, sizeof(choice), 0);
  return choice;
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
  EagerEngine(const RankModel& model, Communicator& communicator, const EagerEngineOptions& options)
      : model_(model),
        communicator_(communicator),
        options_(options),
        pool_(options.threads),
        decoder_(model.config, model.table, model.weights.dtype()),
        kernels_(options.kernels),
        ops_(model.config, model.table, model.weights, allocate_cache(),
             {pool_, agree_on_kernels(pool_, communicator), options.int8_activations}, communicator, kernels_) {
    if (options.timeline) traced_ops_.emplace(ops_, *options.timeline);
  }

  Logits forward(const Batch& batch, LogitsWanted wanted) override {
    Logits result{batch.rows};
    run(batch, [&] {
      const Value value = decoder_.forward(ops(), wanted);
      const auto& logits = static_cast<const EagerValue&>(*value);
      result.positions = logits.lines / batch.rows;
      result.vocab = logits.features;
      result.data.resize(static_cast<size_t>(logits.lines * logits.features));
      for (int64_t line = 0; line < logits.lines; ++line)
        std::memcpy(result.data.data() + line * logits.features, logits.rows.row(line),
                    static_cast<size_t>(logits.line_bytes()));
    });
    return result;
  }

  std::vector<int32_t> likeliest(const Batch& batch, int64_t allowed_vocab) override {
    std::vector<int32_t> ids;
    run(batch, [&] {
      const Value value = decoder_.last_logits_local(ops());
      const auto& logits = static_cast<const EagerValue&>(*value);
      const int64_t first = decoder_.head_is_split() ? communicator_.rank() * logits.features : 0;
      const int64_t count = std::clamp<int64_t>(std::min(allowed_vocab, model_.config.vocab_size) - first, 0, logits.features);
      std::vector<LargestLogit> best;
      for (int64_t row = 0; row < logits.lines; ++row)
        best.push_back(largest_logit(static_cast<const float*>(logits.rows.row(row)), count, first));
      if (decoder_.head_is_split() && communicator_.world_size() > 1) best = largest_of_all(best);
      for (const LargestLogit& one : best) ids.push_back(require_token(one));
    });
    return ids;
  }

  KernelCalls kernel_calls() const override { return kernels_.calls(); }
  bool copies_prefixes() const override { return true; }
  void copy_prefix(int32_t from_slot, int32_t to_slot, int64_t length) override {
    const c10::InferenceMode inference;
    for (const at::Tensor& memory : cache_memory_)
      memory.select(0, to_slot).narrow(1, 0, length).copy_(memory.select(0, from_slot).narrow(1, 0, length));
  }

  int64_t cache_len() const override { return options_.cache_len; }
  int64_t slots() const override { return options_.slots; }
  int64_t cache_bytes() const override {
    int64_t features = 0, heads = 0;
    for (const AttentionSpec& spec : decoder_.attention_specs()) {
      features += spec.kv_heads_local * (spec.head_dim + spec.v_head_dim);
      heads += spec.kv_heads_local;
    }
    const int64_t scales_bytes = options_.int8_cache ? 2 * heads * int64_t{sizeof(float)} : 0;
    return (features * size_bytes(cache_dtype()) + scales_bytes) * options_.slots * options_.cache_len;
  }

 private:
  // Calls `compute` with the ops prepared for a batch.
  void run(const Batch& batch, const auto& compute) {
    check_batch(batch, model_.config.vocab_size, options_.slots, options_.cache_len);
    const c10::InferenceMode inference;
    const TimedSpan span(options_.timeline, batch.width == 1 ? "decode" : "prefill", "step");
    try {
      ops_.begin(trimmed(batch));
      compute();
    } catch (const c10::Error& error) {
      throw Error("libtorch", error.what_without_backtrace());
    }
  }

  Ops& ops() { return traced_ops_ ? static_cast<Ops&>(*traced_ops_) : ops_; }

  // The ranks hold the vocabulary in their order.
  std::vector<LargestLogit> largest_of_all(const std::vector<LargestLogit>& mine) {
    const auto ranks = static_cast<size_t>(communicator_.world_size());
    std::vector<LargestLogit> all(ranks * mine.size()), best = mine;
    communicator_.all_gather(mine.data(), all.data(), static_cast<int64_t>(mine.size() * sizeof(LargestLogit)));
    for (size_t row = 0; row < mine.size(); ++row) {
      best[row] = all[row];
      for (size_t rank = 1; rank < ranks; ++rank) best[row] = larger_logit(best[row], all[rank * mine.size() + row]);
    }
    return best;
  }

  DType cache_dtype() const { return options_.int8_cache ? DType::kI8 : model_.weights.dtype(); }

  std::vector<cpu::LayerCache> allocate_cache() {
    const DType dtype = cache_dtype();
    std::vector<cpu::LayerCache> cache;
    // Empty, not zeros: a page of the cache costs memory only once a position is written there.
    const auto allocate = [&](int64_t heads, int64_t dim, at::ScalarType type) {
      cache_memory_.push_back(at::empty({options_.slots, heads, options_.cache_len, dim}, type));
      return cache_memory_.back().mutable_data_ptr();
    };
    const at::ScalarType type = options_.int8_cache ? at::kChar : scalar_type(dtype);
    try {
      for (const AttentionSpec& spec : decoder_.attention_specs()) {
        const int64_t heads = spec.kv_heads_local;
        cpu::LayerCache& layer = cache.emplace_back();
        layer = {allocate(heads, spec.head_dim, type),
                 allocate(heads, spec.v_head_dim, type),
                 dtype,
                 heads,
                 options_.cache_len,
                 spec.head_dim,
                 spec.v_head_dim};
        if (!options_.int8_cache) continue;
        layer.k_scales = static_cast<float*>(allocate(heads, 1, at::kFloat));
        layer.v_scales = static_cast<float*>(allocate(heads, 1, at::kFloat));
      }
    } catch (const c10::Error&) {
      throw Error("",
                  "cannot allocate a cache of " + std::to_string(options_.slots) + " prompts of " +
                      std::to_string(options_.cache_len) + " positions",
                  "lower --batch, --cache-len or --max-new-tokens");
    }
    return cache;
  }

  const RankModel& model_;
  Communicator& communicator_;
  EagerEngineOptions options_;
  cpu::ThreadPool pool_;
  Decoder decoder_;
  EagerKernels kernels_;
  std::vector<at::Tensor> cache_memory_;
  EagerOps ops_;
  std::optional<TracedOps> traced_ops_;
};

}  // namespace

std::unique_ptr<Engine> make_eager_engine(const RankModel& model, Communicator& communicator,
                                          const EagerEngineOptions& options) {
  // ATen's own threads spin for a while after each of their loops, on the cores of ours; what is left to it is short.
  at::set_num_threads(1);
  return std::make_unique<EagerEngine>(model, communicator, options);
}

}  // namespace tp
