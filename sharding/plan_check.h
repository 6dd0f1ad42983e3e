#pragma once

#include <string>
#include <vector>

#include "sharding/plan.h"

namespace tp {

struct PlanProblem {
  std::string where, what, fix;  // as in Error
};

// Follows the layout of every activation through each module (replicated -> sharded by heads or features -> partial sum ->
// replicated) and returns every reason why the forward pass would fail or give wrong numbers; empty = proven right. With
// tp_size 1 nothing is cut, so only a style that its module cannot have at all is refused.
// `lm_head_stored` says whether the checkpoint has a tensor of its own for the head; without a checkpoint it is
// !config.tie_word_embeddings.
std::vector<PlanProblem> check_plan(const ResolvedPlan& plan, const ModelConfig& config, bool lm_head_stored);

// Throws one Error that lists all problems, if there are any.
void require_valid_plan(const ResolvedPlan& plan, const ModelConfig& config, bool lm_head_stored);

}  // namespace tp
