#include "runtime/rank_model.h"

#include <algorithm>
#include <chrono>

#include "sharding/checkpoint.h"
#include "sharding/error.h"
#include "sharding/plan_check.h"
#include "sharding/plan_suggest.h"
#include "sharding/quantization.h"

namespace tp {
namespace {

class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (unsigned char byte : bytes) hash_ = (hash_ ^ byte) * 0x100000001b3ULL;
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325ULL;
};

// Over what decides how the ranks split the model: every parameter's name, shape and style, and the stored tensors.
uint64_t agreement_hash(const ResolvedPlan& plan, const Checkpoint& checkpoint, DType dtype) {
  Fnv1a hash;
  hash.add(std::to_string(plan.tp_size) + " " + std::string(torch_name(dtype)));
  for (const PlannedModule& planned : plan.modules) {
    hash.add(planned.module.name + " " + std::to_string(static_cast<int>(planned.style)) + " " +
             std::to_string(static_cast<int>(planned.kind)));
    for (int64_t size : planned.module.weight_shape) hash.add(" " + std::to_string(size));
  }
  return hash.value() ^ tensor_table_hash(checkpoint);
}

void require_agreement(uint64_t hash, Communicator& communicator) {
  const std::vector<int64_t> hashes = communicator.collect(static_cast<int64_t>(hash));
  for (size_t rank = 1; rank < hashes.size(); ++rank)
    if (hashes[rank] != hashes[0])
      throw Error("", "rank " + std::to_string(rank) + " sees another model or plan than rank 0",
                  "every host needs the same files under the same paths");
}

}  // namespace

RankModel load_rank_model(const ModelRequest& request, Communicator& communicator) {
  const auto begin = std::chrono::steady_clock::now();
  ModelConfig config = load_model_config(request.model_dir);
  const Checkpoint checkpoint = open_checkpoint(request.model_dir);
  const std::vector<ModuleSpec> modules = module_tree(config);
  require_tensors(checkpoint, modules, config);
  const bool lm_head_stored = has_lm_head(checkpoint, modules);
  const int tp_size = communicator.world_size();
  ResolvedPlan plan =
      resolve_plan(load_or_suggest_plan(request.plan, config, request.plans_dir, tp_size, lm_head_stored), config, tp_size);
  require_valid_plan(plan, config, lm_head_stored);
  settle_weight_kinds(plan, config, &checkpoint, request.kind);
  const DType dtype = resolve_dtype(request.dtype, config, checkpoint);
  require_agreement(agreement_hash(plan, checkpoint, dtype), communicator);

  ParameterTable table(plan, config, communicator.rank(), &checkpoint);
  Weights weights = Weights::load(table, checkpoint, dtype, request.load);
  const double load_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {std::move(config), std::move(plan), std::move(table), std::move(weights), load_s};
}

}  // namespace tp
