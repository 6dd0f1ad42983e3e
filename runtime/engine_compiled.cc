#include "runtime/engine_compiled.h"

#include <algorithm>
#include <optional>

#include "runtime/batch_check.h"
#include "runtime/decoder.h"
#include "runtime/device_tensors.h"
#include "runtime/ops_by_op.h"
#include "runtime/program_runner.h"
#include "runtime/program_store.h"
#include "runtime/stablehlo_program.h"
#include "sharding/error.h"

namespace tp {
namespace {

// Parameters with the same memory on this rank, by the address of their data; integers are always a parameter's own.
std::vector<ParamId> shared_storage(const RankModel& model) {
  std::vector<ParamId> storage;
  for (ParamId id = 0; id < model.table.size(); ++id) {
    ParamId first = model.weights.data(id) == nullptr ? id : 0;
    while (model.weights.data(first) != model.weights.data(id)) ++first;
    storage.push_back(first);
  }
  return storage;
}

class CompiledEngine : public Engine {
 public:
  CompiledEngine(const std::vector<const RankModel*>& models, std::shared_ptr<const PjrtClient> client,
                 Communicator& communicator, const CompiledEngineOptions& options)
      : model_(*models[0]),
        slots_(options.slots),
        cache_len_(options.cache_len),
        decoder_(model_.config, model_.table, model_.weights.dtype()),
        source_{model_.config, model_.table, decoder_, shared_storage(model_), model_.weights.dtype(), model_.plan.tp_size,
                std::make_shared<KernelSet>(options.kernels, client->platform_name())},
        tensors_(client, models, source_.storage),
        store_(client, ProgramCache(options.compile_cache, options.warn), options.dump_hlo),
        runner_(model_, client, tensors_, store_, communicator) {
    if (options.op_by_op) ops_.emplace(source_, runner_);
  }

  Logits forward(const Batch& batch, LogitsWanted wanted) override {
    check_batch(batch, model_.config.vocab_size, slots_, cache_len_);
    return batch.width == 1 ? decode(batch) : prefill(batch, wanted);
  }

  int64_t cache_len() const override { return cache_len_; }
  int64_t slots() const override { return slots_; }
  int64_t cache_bytes() const override {
    int64_t bytes = 0;
    for (const HloInput& cache : decode_program().caches) bytes += cache.type.size_bytes();
    return bytes;
  }
  int64_t programs_compiled() const override { return store_.compiled(); }
  int64_t program_cache_hits() const override { return store_.cache_hits(); }
  KernelCalls kernel_calls() const override { return runner_.kernel_calls(); }

 private:
  const HloProgram& decode_program() const {
    if (!decode_program_) decode_program_ = trace_decode(source_, slots_, cache_len_);
    return *decode_program_;
  }

  const HloProgram& prefill_program(int64_t bucket, LogitsWanted wanted) {
    const auto [at, fresh] = prefill_programs_.try_emplace({bucket, wanted});
    if (fresh) at->second = trace_prefill(source_, bucket, slots_, cache_len_, wanted);
    return at->second;
  }

  // One position for every slot; slots that are not in the batch get an empty row.
  Logits decode(const Batch& batch) {
    const auto slots = static_cast<size_t>(slots_);
    Batch all{.rows = slots_, .width = 1};
    all.ids.resize(slots);
    all.start.resize(slots);
    all.length.resize(slots);
    all.slot.resize(slots);
    all.total.assign(slots, 1);
    for (size_t row = 0; row < static_cast<size_t>(batch.rows); ++row) {
      const auto slot = static_cast<size_t>(batch.slot[row]);
      all.ids[slot] = batch.ids[row];
      all.start[slot] = batch.start[row];
      all.length[slot] = 1;
      all.total[slot] = batch.total[row];
    }
    const std::vector<float> data = ops_ ? run_by_op(all, LogitsWanted::kLast) : run(decode_program(), all);
    Logits logits{batch.rows, 1, model_.config.vocab_size, {}};
    for (int32_t slot : batch.slot) {
      const auto begin = data.begin() + slot * logits.vocab;
      logits.data.insert(logits.data.end(), begin, begin + logits.vocab);
    }
    return logits;
  }

  // Row by row, each in the bucket of its own length.
  Logits prefill(const Batch& batch, LogitsWanted wanted) {
    const bool all = wanted == LogitsWanted::kAll;
    const int64_t positions = all ? *std::max_element(batch.length.begin(), batch.length.end()) : 1;
    Logits logits{batch.rows, positions, model_.config.vocab_size, {}};
    logits.data.resize(static_cast<size_t>(batch.rows * positions * logits.vocab));
    for (int64_t row = 0; row < batch.rows; ++row) {
      const auto r = static_cast<size_t>(row);
      const int64_t length = batch.length[r], bucket = bucket_of(length, cache_len_);
      Batch one{.rows = 1, .width = bucket};
      one.ids.assign(batch.ids.begin() + row * batch.width, batch.ids.begin() + row * batch.width + length);
      one.ids.resize(static_cast<size_t>(bucket));
      one.start = {batch.start[r]};
      one.length = {batch.length[r]};
      one.slot = {batch.slot[r]};
      one.total = {batch.total[r]};
      const std::vector<float> data = ops_ ? run_by_op(one, wanted) : run(prefill_program(bucket, wanted), one);
      std::copy_n(data.begin(), (all ? length : 1) * logits.vocab, logits.at(row, 0));
    }
    return logits;
  }

  // The first device's result of one call.
  std::vector<float> run(const HloProgram& program, const Batch& batch) {
    return on_host(runner_.run(program, batch), program.result);
  }

  std::vector<float> run_by_op(const Batch& batch, LogitsWanted wanted) {
    ops_->begin({.rows = batch.rows, .width = batch.width, .slots = slots_, .cache_len = cache_len_}, batch);
    const Value logits = decoder_.forward(*ops_, wanted);
    return on_host(OpByOp::buffers(logits), OpByOp::type(logits));
  }

  static std::vector<float> on_host(const DeviceBuffers& buffers, const HloType& type) {
    std::vector<float> data(static_cast<size_t>(type.size_bytes()) / sizeof(float));
    buffers[0].to_host(data.data(), type.size_bytes());
    return data;
  }

  const RankModel& model_;
  int64_t slots_, cache_len_;
  Decoder decoder_;
  TraceSource source_;
  DeviceTensors tensors_;
  ProgramStore store_;
  ProgramRunner runner_;
  std::optional<OpByOp> ops_;  // with op_by_op
  mutable std::optional<HloProgram> decode_program_;
  std::map<std::pair<int64_t, LogitsWanted>, HloProgram> prefill_programs_;
};

}  // namespace

std::unique_ptr<Engine> make_compiled_engine(const std::vector<const RankModel*>& models,
                                             std::shared_ptr<const PjrtClient> client, Communicator& communicator,
                                             const CompiledEngineOptions& options) {
  const auto ranks = static_cast<size_t>(models[0]->plan.tp_size);
  if (client->devices().size() != ranks || client->addressable_devices().size() != models.size()) {
    throw Error(client->plugin().path(),
                "the plugin shows " + std::to_string(client->devices().size()) + " devices to a job of " +
                    std::to_string(ranks) + " ranks, " + std::to_string(client->addressable_devices().size()) +
                    " of them to this rank",
                "every rank needs one device: choose --nproc-per-node to match");
  }
  return std::make_unique<CompiledEngine>(models, std::move(client), communicator, options);
}

}  // namespace tp
