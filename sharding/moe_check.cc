#include "sharding/moe_check.h"

#include <algorithm>

#include "sharding/branch_check.h"

namespace tp {
namespace {

std::string quoted(Style style) {
  return "`" + std::string(style_info(style).name) + "`";
}

class ExpertsChecker {
 public:
  ExpertsChecker(const LayerModules& layer, int tp_size, PlanFindings& findings)
      : gate_up_(*layer.find(Role::kExpertsGateUp)),
        down_(*layer.find(Role::kExpertsDown)),
        biases_(layer.present({Role::kExpertsGateUpBias, Role::kExpertsDownBias})),
        tp_size_(tp_size),
        findings_(findings) {}

  void run() {
    for (const PlannedModule* planned : all()) {
      if (misfit(*planned)) return;
    }
    if (every(Style::kReplicated)) return require(Style::kReplicated);
    if (every(Style::kGroupedGemm)) return require(Style::kEpDispatchExperts);
    if (gate_up_.style == features_style(Role::kExpertsGateUp) && down_.style == features_style(Role::kExpertsDown)) {
      if (biases_.empty()) return require(Style::kMoeTpExperts);
      return findings_.add(down_, "the experts have biases, which every chip would add to its part of the sum", mends());
    }
    findings_.add(subject(), "the weights of the experts are cut in different ways: " + described(), mends());
  }

 private:
  std::vector<const PlannedModule*> all() const {
    std::vector<const PlannedModule*> modules = {&gate_up_, &down_};
    modules.insert(modules.end(), biases_.begin(), biases_.end());
    return modules;
  }

  // The style that cuts every expert by its features.
  Style features_style(Role role) const {
    if (role == Role::kExpertsGateUp) return gate_up_.module.transposed ? Style::kPackedRowwise : Style::kPackedColwise;
    return down_.module.transposed ? Style::kColwise : Style::kRowwise;
  }

  bool every(Style style) const {
    return std::ranges::all_of(all(), [&](const PlannedModule* planned) { return planned->style == style; });
  }

  const PlannedModule& subject() const {
    const std::vector<const PlannedModule*> modules = all();
    const auto found = std::ranges::find_if(modules, [&](const PlannedModule* m) { return findings_.by_user(*m); });
    return found == modules.end() ? gate_up_ : **found;
  }

  std::string described() const {
    std::vector<std::string> parts;
    for (const PlannedModule* planned : all()) parts.push_back(short_name(*planned) + " is " + quoted(planned->style));
    return joined_with_and(parts);
  }

  // Whole experts give whole results; cut ones give parts that the rule of the experts module has to sum.
  void require(Style wanted) {
    const Style found = *down_.experts_style;
    if (found == wanted) return;
    const bool sums = found == Style::kMoeTpExperts || found == Style::kEpDispatchExperts;
    std::string what = quoted(found) + " is not for an experts module";
    if (sums && wanted == Style::kReplicated) {
      what = quoted(found) + " sums over the chips, but every chip has the experts whole: the sum would be " +
             std::to_string(tp_size_) + " times too large";
    } else if (sums) {
      what =
          quoted(found) + " does not fit experts that are cut by " + (wanted == Style::kMoeTpExperts ? "features" : "expert");
    } else if (found == Style::kReplicated) {
      what = std::string("the experts are cut by ") + (wanted == Style::kMoeTpExperts ? "features" : "expert") +
             " and nothing sums the parts";
    }
    findings_.add_for_experts(down_, what, "set " + findings_.experts_pattern(down_) + " to " + quoted(wanted));
  }

  std::string mends() const {
    const std::string experts = findings_.experts_pattern(down_), weights = names_of(all());
    std::string text = "set ";
    if (biases_.empty() && !gate_up_.module.parts.empty()) {
      text += "gate_up_proj to " + quoted(features_style(Role::kExpertsGateUp)) + ", down_proj to " +
              quoted(features_style(Role::kExpertsDown)) + " and " + experts + " to `moe_tp_experts`, or ";
    }
    return text + weights + " to `grouped_gemm` and " + experts + " to `ep_dispatch_experts`, or all to `replicated`";
  }

  const PlannedModule &gate_up_, &down_;
  std::vector<const PlannedModule*> biases_;
  int tp_size_;
  PlanFindings& findings_;
};

void check_shared_expert(const LayerModules& layer, PlanFindings& findings) {
  const PlannedModule* down = layer.find(Role::kSharedDown);
  if (down == nullptr) return;
  const Branch branch{.name = "the shared expert",
                      .split_by = "by features",
                      .in = layer.present({Role::kSharedGate, Role::kSharedUp, Role::kSharedGateUp}),
                      .out = down,
                      .split_fix = layer.find(Role::kSharedGateUp) == nullptr
                                       ? "set gate_proj and up_proj to `colwise` and down_proj to `rowwise`"
                                       : "set input_linear to `packed_colwise` and output_linear to `rowwise`"};
  check_branch(branch, findings);
}

}  // namespace

void check_experts(const LayerModules& layer, int tp_size, PlanFindings& findings) {
  if (layer.find(Role::kExpertsGateUp) == nullptr) return;
  ExpertsChecker(layer, tp_size, findings).run();
  check_shared_expert(layer, findings);
}

}  // namespace tp
