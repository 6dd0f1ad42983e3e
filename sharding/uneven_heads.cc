#include "sharding/uneven_heads.h"

#include <map>

namespace tp {
namespace {

bool has_heads(const ModuleSpec& module) {
  return module.heads_out > 0 || module.heads_in > 0 || module.role == Role::kQkv;
}

int64_t kv_heads_of(const std::vector<PlannedModule*>& attention) {
  for (const PlannedModule* planned : attention) {
    const ModuleSpec& module = planned->module;
    if (module.role == Role::kQkv) return module.parts.empty() ? module.heads_out : module.parts[1].heads;
    if (module.role == Role::kK) return module.heads_out;
  }
  return 0;
}

void group(ModuleSpec& module, int64_t kv_heads) {
  const int64_t heads = module.heads_out > 0 ? module.heads_out : module.heads_in;
  module.heads_per_group = heads / kv_heads;
  for (FusedPart& part : module.parts) part.heads_per_group = part.heads / kv_heads;
}

}  // namespace

void deal_out_heads(ResolvedPlan& plan) {
  std::map<int, std::vector<PlannedModule*>> layers;
  for (PlannedModule& planned : plan.modules) {
    if (planned.module.layer >= 0 && has_heads(planned.module)) layers[planned.module.layer].push_back(&planned);
  }
  for (auto& [index, attention] : layers) {
    const int64_t kv_heads = kv_heads_of(attention);
    bool replicated = false;
    for (const PlannedModule* planned : attention) replicated = replicated || planned->style == Style::kKvReplicated;
    if (kv_heads == 0 || kv_heads % plan.tp_size == 0 || replicated) continue;
    for (PlannedModule* planned : attention) group(planned->module, kv_heads);
  }
}

}  // namespace tp
