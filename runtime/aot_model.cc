#include "runtime/aot_model.h"

#include "sharding/checkpoint.h"
#include "sharding/error.h"
#include "sharding/plan_check.h"
#include "sharding/plan_suggest.h"
#include "sharding/quantization.h"

namespace tp {
namespace {

// Weights are not needed, but where they are they decide what the config leaves open.
std::optional<Checkpoint> checkpoint_of(const std::filesystem::path& model) {
  const bool stored =
      std::filesystem::exists(model / "model.safetensors") || std::filesystem::exists(model / "model.safetensors.index.json");
  if (!stored) return std::nullopt;
  return open_checkpoint(model);
}

DType dtype_of(const AotRequest& request, const ModelConfig& config, const std::optional<Checkpoint>& checkpoint) {
  if (checkpoint) return resolve_dtype(request.dtype, config, *checkpoint);
  if (request.dtype != "auto") return dtype_from_torch(request.dtype, "--dtype");
  if (config.dtype) return *config.dtype;
  throw Error(config.path, "names no dtype, and there are no weights to tell it", "say it: --dtype bfloat16");
}

}  // namespace

AotModel::AotModel(const AotRequest& request, int tp_size, const std::string& platform)
    : config_(load_model_config(request.model)) {
  const std::optional<Checkpoint> checkpoint = checkpoint_of(request.model);
  const bool head_stored = checkpoint ? has_lm_head(*checkpoint, module_tree(config_)) : !config_.tie_word_embeddings;
  plan_ = resolve_plan(load_or_suggest_plan(request.plan, config_, request.plans_dir, tp_size, head_stored), config_, tp_size);
  require_valid_plan(plan_, config_, head_stored);
  const Checkpoint* stored = checkpoint ? &*checkpoint : nullptr;
  settle_weight_kinds(plan_, config_, stored, weight_kind(request.weights));
  const DType dtype = dtype_of(request, config_, checkpoint);
  table_ = std::make_unique<ParameterTable>(plan_, config_, 0, stored);
  decoder_ = std::make_unique<Decoder>(config_, *table_, dtype);
  source_.reset(new TraceSource{config_, *table_, *decoder_, tied_storage(config_, *table_), dtype, tp_size,
                                std::make_shared<KernelSet>(request.kernels, platform)});
}

HloProgram AotModel::prefill(int64_t bucket, int64_t batch, int64_t cache_len, LogitsWanted wanted) const {
  return trace_prefill(*source_, bucket, batch, cache_len, wanted);
}

HloProgram AotModel::decode(int64_t batch, int64_t cache_len) const {
  return trace_decode(*source_, batch, cache_len);
}

ArgumentBytes argument_bytes(const HloProgram& program) {
  ArgumentBytes bytes;
  for (const HloInput& input : program.inputs) {
    const int64_t size = input.type.size_bytes();
    bytes.all += size;
    if (is_weight(input.kind)) bytes.weights += size;
    if (input.kind == HloInput::Kind::kCacheK || input.kind == HloInput::Kind::kCacheV) bytes.caches += size;
  }
  return bytes;
}

}  // namespace tp
