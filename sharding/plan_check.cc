#include "sharding/plan_check.h"

#include "sharding/attention_check.h"
#include "sharding/branch_check.h"
#include "sharding/error.h"
#include "sharding/layer_modules.h"
#include "sharding/moe_check.h"
#include "sharding/plan_findings.h"

namespace tp {
namespace {

void check_mlp(const LayerModules& layer, PlanFindings& findings) {
  const PlannedModule* down = layer.find(Role::kDown);
  if (down == nullptr) return;
  Branch branch{.name = "the MLP",
                .split_by = "by features",
                .in = layer.present({Role::kGate, Role::kUp, Role::kGateUp}),
                .out = down,
                .split_fix = {}};
  const bool fused = layer.find(Role::kGateUp) != nullptr;
  branch.split_fix = "set " + names_of(branch.in) + (fused ? " to `packed_colwise` and " : " to `colwise` and ") +
                     short_name(*down) + " to `rowwise`";
  check_branch(branch, findings);
}

void check_lm_head(const PlannedModule& head, PlanFindings& findings) {
  if (misfit(head)) return;
  const std::string fix = "set " + short_name(head) + " to `colwise_gather_output`, or to `replicated`";
  switch (head.style) {
    case Style::kColwise:
      return findings.add(head, "`colwise` leaves each chip with its part of the logits alone", fix);
    case Style::kRowwise:
      return findings.add(head, "`rowwise` takes the features of its chip, but the last norm leaves all on every chip", fix);
    case Style::kRowwiseSplitInput:
      return findings.add(head, "`rowwise_split_input` would round the logits, which are float32", fix);
    default:
      return;
  }
}

// From the flag in config.json and the tensor in the files, all four cases: the head is never tied silently.
void check_tied(const ResolvedPlan& plan, const ModelConfig& config, bool lm_head_stored, PlanFindings& findings) {
  const PlannedModule *embedding = nullptr, *head = nullptr;
  for (const PlannedModule& planned : plan.modules) {
    if (planned.module.role == Role::kEmbedding) embedding = &planned;
    if (planned.module.role == Role::kLmHead) head = &planned;
  }
  if (embedding == nullptr || head == nullptr || misfit(*embedding) || misfit(*head)) return;
  const std::string name = short_name(*head), table = short_name(*embedding);
  const std::string chips = " over " + std::to_string(plan.tp_size) + " chips";
  const std::string choose =
      "write `tied_weights: untie` (a copy for each) or `tied_weights: vocab_parallel` (one tensor, split "
      "by vocabulary) in the plan, or say it with `--tied`";
  if (!config.tie_word_embeddings) {
    if (!lm_head_stored) {
      findings.add(*head, "the checkpoint has no tensor for it, and config.json says `tie_word_embeddings: false`",
                   "set `tie_word_embeddings: true` in config.json if the head shares the weight of " + table);
    }
    return;
  }
  if (lm_head_stored) {
    if (plan.plan.tied == TiedWeights::kUntie) return;
    findings.add(*head, "config.json says it is tied to " + table + ", but the checkpoint has a tensor of its own for it",
                 "write `tied_weights: untie` in the plan, or say `--tied untie`, to use the stored tensor");
    return;
  }
  if (plan.plan.tied == TiedWeights::kReject) {
    findings.add(*head, "it is tied to " + table + " and cannot be split" + chips + " without saying how", choose);
  } else if (plan.plan.tied == TiedWeights::kVocabParallel &&
             (embedding->style != Style::kEmbeddingRowwise || head->style != Style::kColwiseGatherOutput)) {
    findings.add(
        *head, "`vocab_parallel` splits one tensor by vocabulary for both " + table + " and " + name,
        "set " + table + " to `embedding_rowwise` and " + name + " to `colwise_gather_output`, or write `tied_weights: untie`");
  }
}

}  // namespace

std::vector<PlanProblem> check_plan(const ResolvedPlan& plan, const ModelConfig& config, bool lm_head_stored) {
  PlanFindings findings(plan);
  for (const PlannedModule& planned : plan.modules) {
    if (const std::optional<Misfit> found = misfit(planned)) findings.add(planned, found->what, found->fix);
  }
  if (plan.tp_size == 1) return findings.problems();
  for (const PlannedModule& planned : plan.modules) {
    if (planned.module.role == Role::kLmHead) check_lm_head(planned, findings);
  }
  check_tied(plan, config, lm_head_stored, findings);
  for (const LayerModules& layer : layers_of(plan)) {
    check_attention(layer, plan.tp_size, findings);
    check_mlp(layer, findings);
    check_experts(layer, plan.tp_size, findings);
  }
  return findings.problems();
}

void require_valid_plan(const ResolvedPlan& plan, const ModelConfig& config, bool lm_head_stored) {
  std::vector<Error> problems;
  for (const PlanProblem& problem : check_plan(plan, config, lm_head_stored)) {
    problems.emplace_back(problem.where, problem.what, problem.fix);
  }
  if (!problems.empty()) throw_all(problems);
}

}  // namespace tp
