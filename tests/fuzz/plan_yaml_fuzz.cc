#include <cstdint>
#include <string>

#include "sharding/error.h"
#include "sharding/model_config.h"
#include "sharding/plan_check.h"
#include "sharding/plan_file.h"
#include "sharding/plan_report.h"

namespace {

constexpr int kTpSize = 2;

const tp::ModelConfig& dense() {
  static const tp::ModelConfig config = tp::parse_model_config(
      R"({"model_type": "llama", "vocab_size": 64, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32, "rms_norm_eps": 1e-5,
          "rope_theta": 10000.0, "tie_word_embeddings": true, "hidden_act": "silu"})",
      "config.json");
  return config;
}

const tp::ModelConfig& experts() {
  static const tp::ModelConfig config = tp::parse_model_config(
      R"({"model_type": "mixtral", "vocab_size": 64, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
          "num_attention_heads": 3, "num_key_value_heads": 3, "head_dim": 8, "max_position_embeddings": 32, "rms_norm_eps": 1e-5,
          "rope_theta": 10000.0, "tie_word_embeddings": false, "hidden_act": "silu", "num_local_experts": 4,
          "num_experts_per_tok": 2})",
      "config.json");
  return config;
}

void apply(const tp::PlanFile& file, const tp::ModelConfig& config, bool lm_head_stored) {
  tp::Plan plan;
  plan.name = "plan.yaml";
  plan.tied = file.tied.value_or(tp::TiedWeights::kReject);
  plan.uneven = file.uneven.value_or(false);
  plan.rules = file.rules;
  try {
    const tp::ResolvedPlan resolved = tp::resolve_plan(plan, config, kTpSize);
    if (!tp::check_plan(resolved, config, lm_head_stored).empty()) return;
    tp::report_json(tp::plan_report(resolved, config, tp::DType::kBF16, lm_head_stored));
  } catch (const tp::Error&) {
  }
}

}  // namespace

// Text of a plan is refused with an Error or a list of problems, or it gives a plan; and a plan that check_plan finds right
// can be reported.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<tp::Error> problems;
  tp::PlanFile file;
  try {
    file = tp::parse_plan({reinterpret_cast<const char*>(data), size}, "plan.yaml", tp::RuleSource::kFile, problems);
  } catch (const tp::Error&) {
    return 0;
  }
  apply(file, dense(), false);
  apply(file, experts(), true);
  return 0;
}
