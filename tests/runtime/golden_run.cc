#include "tests/runtime/golden_run.h"

#include <string_view>

#include "sharding/families.h"
#include "sharding/plan.h"

namespace tp {
namespace {

// The style of the query projection in the default plan of a case.
Style default_q_style(const ModelConfig& config) {
  const ResolvedPlan plan = resolve_plan(load_plan({}, config, kPlansDir), config, 1);
  for (const PlannedModule& planned : plan.modules)
    if (planned.module.role == Role::kQ) return planned.style;
  return Style::kReplicated;
}

}  // namespace

std::vector<GoldenRun> runs_of(const ModelConfig& config, const std::string& dtype, int tp_size) {
  if (config.num_kv_heads % tp_size == 0 || default_q_style(config) != Style::kColwise) return {{dtype, tp_size, {}}};
  std::vector<std::string> whole;
  const std::string_view output = find_family(config.model_type)->names.o;
  for (const std::string_view name : {std::string_view("self_attn.q_proj"), std::string_view("self_attn.k_proj"),
                                      std::string_view("self_attn.v_proj"), output})
    whole.push_back("layers.*." + std::string(name) + "=replicated_with_grad_allreduce");
  return {{dtype, tp_size, whole},
          {dtype, tp_size, {"layers.*.self_attn.k_proj=kv_replicated", "layers.*.self_attn.v_proj=kv_replicated"}}};
}

}  // namespace tp
