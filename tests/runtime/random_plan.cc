#include "tests/runtime/random_plan.h"

#include <algorithm>
#include <map>

#include "sharding/plan_pattern.h"
#include "sharding/style.h"

namespace tp {
namespace {

class PlanDraw {
 public:
  PlanDraw(const std::vector<ModuleSpec>& modules, RandomSource& random) : modules_(modules), random_(random) {}

  std::string run() {
    const bool by_layer = random_.chance(20);
    for (int layer = 0; layer < (by_layer ? 2 : 1); ++layer) {
      layer_ = by_layer ? layer : -1;
      attention();
      branch({Role::kGate, Role::kUp, Role::kGateUp}, Role::kDown, random_.below(4));
      branch({Role::kSharedGate, Role::kSharedUp, Role::kSharedGateUp}, Role::kSharedDown, random_.below(4));
      experts();
    }
    layer_ = -1;
    set(Role::kEmbedding, random_.pick({"", "", "embedding_rowwise", "embedding_colwise", "replicated"}));
    set(Role::kLmHead, random_.pick({"", "", "colwise_gather_output", "replicated"}));
    if (random_.chance(30)) rules_[pattern(random_.pick(modules_))] = random_.pick(style_names());
    return text();
  }

 private:
  std::string pattern(const ModuleSpec& module) const {
    const std::string all = pattern_of(module.name);
    const size_t star = all.find('*');
    if (layer_ < 0 || star == std::string::npos) return all;
    return all.substr(0, star) + std::to_string(layer_) + all.substr(star + 1);
  }

  void set(Role role, const std::string& style) {
    if (style.empty()) return;
    for (const ModuleSpec& module : modules_) {
      if (module.role == role && (layer_ < 0 || module.layer == layer_)) rules_[pattern(module)] = style;
    }
  }

  bool has(Role role) const {
    return std::ranges::any_of(modules_, [&](const ModuleSpec& module) { return module.role == role; });
  }

  // 0: as it is; 1: split; 2: whole; 3: split and gathered in between.
  void branch(const std::vector<Role>& in, Role out, int64_t way) {
    if (way == 0) return;
    for (Role role : in) {
      const auto found = std::ranges::find(modules_, role, &ModuleSpec::role);
      if (found == modules_.end()) continue;
      const std::string split = found->parts.empty() ? "colwise" : "packed_colwise";
      set(role, way == 1 ? split : way == 2 ? "replicated" : random_.pick({"replicated", "colwise_gather_output"}));
    }
    set(out, way == 1 ? "rowwise" : way == 2 ? random_.pick({"replicated", "colwise_gather_output"}) : "rowwise_split_input");
  }

  void attention() {
    const int64_t way = random_.below(5);
    if (way < 4) {
      branch({Role::kQ, Role::kQB, Role::kK, Role::kV, Role::kQkv, Role::kKvB, Role::kAttentionGate}, Role::kO, way);
    } else {
      branch({Role::kQ, Role::kAttentionGate}, Role::kO, 1);
      for (Role role : {Role::kK, Role::kV, Role::kQkv}) set(role, "kv_replicated");
    }
    if (random_.chance(20)) set(Role::kQA, random_.pick({"colwise_gather_output", "replicated"}));
    if (random_.chance(20)) set(Role::kKvA, random_.pick({"colwise_gather_output", "mla_kv_a_proj"}));
    if (random_.chance(20) && has(Role::kKNorm)) set(Role::kKNorm, random_.pick({"colwise", "kv_replicated"}));
  }

  void experts() {
    const int64_t way = random_.below(4);
    if (way == 0 || !has(Role::kExpertsDown)) return;
    const bool features = way == 1, whole = way == 2;
    const bool transposed = std::ranges::find(modules_, Role::kExpertsDown, &ModuleSpec::role)->transposed;
    const std::string in = transposed ? "packed_rowwise" : "packed_colwise", out = transposed ? "colwise" : "rowwise";
    set(Role::kExpertsGateUp, features ? in : whole ? "replicated" : "grouped_gemm");
    set(Role::kExpertsDown, features ? out : whole ? "replicated" : "grouped_gemm");
    set(Role::kExpertsGateUpBias, whole ? "replicated" : "grouped_gemm");
    set(Role::kExpertsDownBias, whole ? "replicated" : "grouped_gemm");
    for (const ModuleSpec& module : modules_) {
      if (module.role != Role::kExpertsDown || (layer_ >= 0 && module.layer != layer_)) continue;
      const std::string down = pattern(module);
      rules_[down.substr(0, down.find_last_of('.'))] = features ? "moe_tp_experts"
                                                       : whole  ? "replicated"
                                                                : "ep_dispatch_experts";
    }
  }

  std::string text() {
    std::string text = "version: 1\ntied_weights: ";
    text += random_.pick({"reject", "untie", "untie", "vocab_parallel"});
    text += random_.chance(40) ? "\nuneven: allow\n" : "\n";
    if (!rules_.empty()) text += "tp_plan:\n";
    for (const auto& [pattern, style] : rules_) text += "  " + pattern + ": " + style + "\n";
    return text;
  }

  const std::vector<ModuleSpec>& modules_;
  RandomSource& random_;
  int layer_ = -1;
  std::map<std::string, std::string> rules_;
};

}  // namespace

std::string random_plan(const std::vector<ModuleSpec>& modules, RandomSource& random) {
  return PlanDraw(modules, random).run();
}

}  // namespace tp
