#include "sharding/head_layout.h"

#include <map>

#include "sharding/style_fit.h"

namespace tp {
namespace {

bool has_heads(const ModuleSpec& module) {
  return module.heads_out > 0 || module.heads_in > 0 || module.role == Role::kQkv;
}

std::map<int, std::vector<PlannedModule*>> attention_by_layer(ResolvedPlan& plan) {
  std::map<int, std::vector<PlannedModule*>> layers;
  for (PlannedModule& planned : plan.modules) {
    if (planned.module.layer >= 0 && has_heads(planned.module)) layers[planned.module.layer].push_back(&planned);
  }
  return layers;
}

// The projection whose heads a parameter without a rule belongs to.
bool leads(Role projection, Role follower) {
  if (projection == Role::kQkv) return true;
  return projection == (follower == Role::kKNorm ? Role::kK : Role::kQ);
}

bool follows(const PlannedModule& planned, const Plan& plan) {
  // The rule for sinks of a default plan says how they lie where the heads are split.
  if (planned.rule && plan.rules[*planned.rule].source != RuleSource::kDefault) return false;
  if (planned.module.role == Role::kSinks) return true;
  if (planned.rule) return false;
  const bool norm = planned.module.role == Role::kQNorm || planned.module.role == Role::kKNorm;
  return norm && planned.module.weight_shape.size() > 1;
}

int64_t kv_heads_of(const std::vector<PlannedModule*>& attention) {
  for (const PlannedModule* planned : attention) {
    const ModuleSpec& module = planned->module;
    if (module.role == Role::kQkv) return module.parts.empty() ? module.heads_out : module.parts[1].heads;
    if (module.role == Role::kK || module.role == Role::kKvB) return module.heads_out;
  }
  return 0;
}

void group(ModuleSpec& module, int64_t kv_heads) {
  const int64_t heads = module.heads_out > 0 ? module.heads_out : module.heads_in;
  module.heads_per_group = heads / kv_heads;
  for (FusedPart& part : module.parts) part.heads_per_group = part.heads / kv_heads;
}

}  // namespace

void follow_heads(ResolvedPlan& plan) {
  for (auto& [index, attention] : attention_by_layer(plan)) {
    for (PlannedModule* follower : attention) {
      if (!follows(*follower, plan.plan)) continue;
      follower->style = Style::kReplicated;
      for (const PlannedModule* planned : attention) {
        if (!leads(planned->module.role, follower->module.role)) continue;
        if (output_layout(planned->style, Layout::kWhole) != Layout::kSharded) continue;
        const bool shares_kv = follower->module.role == Role::kKNorm && planned->style == Style::kKvReplicated;
        follower->style = shares_kv ? Style::kKvReplicated : Style::kColwise;
      }
    }
  }
}

void deal_out_heads(ResolvedPlan& plan) {
  for (auto& [index, attention] : attention_by_layer(plan)) {
    const int64_t kv_heads = kv_heads_of(attention);
    bool replicated = false;
    for (const PlannedModule* planned : attention) replicated = replicated || planned->style == Style::kKvReplicated;
    if (kv_heads == 0 || kv_heads % plan.tp_size == 0 || replicated) continue;
    for (PlannedModule* planned : attention) group(planned->module, kv_heads);
  }
}

}  // namespace tp
