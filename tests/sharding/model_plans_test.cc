// Default and suggested plans of the reference models, where they are present beside the project.
#include <gmock/gmock.h>

#include <filesystem>

#include "sharding/error.h"
#include "sharding/plan_check.h"
#include "sharding/plan_suggest.h"
#include "sharding/plan_yaml.h"
#include "tests/sharding/made_config.h"

namespace tp {
namespace {

const std::filesystem::path kPlans = std::filesystem::path(TPRUN_SOURCE_DIR) / "plans";
const std::filesystem::path kModels = std::filesystem::path(TPRUN_SOURCE_DIR) / "../shared/goldens/models";

std::vector<std::filesystem::path> models() {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kModels, error)) found.push_back(entry.path());
  return found;
}

TEST(ModelPlans, DefaultPlansAreRightOnOneAndTwoChips) {
  for (const std::filesystem::path& model : models()) {
    const ModelConfig config = load_model_config(model);
    for (int tp_size : {1, 2}) {
      const PlanRequest request{.tied = TiedWeights::kVocabParallel};
      EXPECT_NO_THROW(require_valid_plan(resolve_plan(load_plan(request, config, kPlans), config, tp_size), config,
                                         !config.tie_word_embeddings))
          << model;
    }
  }
}

TEST(ModelPlans, SuggestionsAreValidForAnyNumberOfChips) {
  for (const std::filesystem::path& model : models()) {
    const ModelConfig config = load_model_config(model);
    for (int tp_size : {3, 4}) {
      EXPECT_NO_THROW(suggest_plan(config, kPlans, tp_size, !config.tie_word_embeddings)) << model << " on " << tp_size;
    }
  }
}

ModelConfig glm4() {
  return parse_model_config(R"({"model_type": "glm4", "vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 13696,
    "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
    "max_position_embeddings": 32768, "partial_rotary_factor": 0.5, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
    "attention_bias": true, "tie_word_embeddings": false, "hidden_act": "silu", "eos_token_id": 151329,
    "pad_token_id": 151329})",
                            "config.json");
}

TEST(ModelPlans, Glm4OnFourChips) {
  EXPECT_EQ(suggest_plan(glm4(), kPlans, 4, true).yaml,
            R"(# glm4 on 4 chips: the valid plan with the least memory per chip, then the least communication.
# Per chip in bfloat16: 4.42 GiB of weights, 20.0 KiB of KV cache a token.
version: 1
extends: glm4
tp_plan:
  layers.*.self_attn.k_proj: kv_replicated  # every chip keeps one KV head, several chips the same one
  layers.*.self_attn.v_proj: kv_replicated  # every chip keeps one KV head, several chips the same one
  layers.*.mlp.gate_up_proj: packed_colwise  # MLP split by features, one sum a layer
  layers.*.mlp.down_proj: rowwise  # MLP split by features, one sum a layer
)");
}

ModelConfig llama70b() {
  return parse_model_config(R"({"model_type": "llama", "vocab_size": 128256, "hidden_size": 8192, "intermediate_size": 28672,
    "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": false, "hidden_act": "silu", "bos_token_id": 1,
    "eos_token_id": 2})",
                            "config.json");
}

TEST(ModelPlans, Llama70bOnEightChipsNeedsNoChange) {
  EXPECT_EQ(suggest_plan(llama70b(), kPlans, 8, true).yaml,
            R"(# llama on 8 chips: the valid plan with the least memory per chip, then the least communication.
# Per chip in bfloat16: 16.4 GiB of weights, 40.0 KiB of KV cache a token.
version: 1
extends: llama
# Its rules are those of the default plan.
)");
}

TEST(ModelPlans, AutoSaysWhatItChose) {
  const Plan plan = load_or_suggest_plan({.plan = "auto"}, glm4(), kPlans, 4, true);
  EXPECT_THAT(plan.notes,
              ::testing::ElementsAre("--plan auto: suggested plan of glm4 (layers.*.self_attn.k_proj: kv_replicated, "
                                     "layers.*.self_attn.v_proj: kv_replicated, layers.*.mlp.gate_up_proj: "
                                     "packed_colwise, layers.*.mlp.down_proj: rowwise)"));
  const PlanRequest request{.plan = "auto"};
  EXPECT_THAT(load_or_suggest_plan(request, llama70b(), kPlans, 8, true).notes,
              ::testing::ElementsAre("--plan auto: suggested plan of llama (the rules of the default plan)"));
  EXPECT_THAT(load_or_suggest_plan(request, llama70b(), kPlans, 3, true).notes,
              ::testing::ElementsAre("--plan auto: suggested plan of llama (uneven: allow)"));
}

// What the check says of a model on two chips under overrides: "" or all problems.
std::string verdict(const ModelConfig& config, const std::vector<std::string>& overrides) {
  try {
    const Plan plan = load_plan({.overrides = overrides}, config, kPlans);
    require_valid_plan(resolve_plan(plan, config, 2), config, /*lm_head_stored=*/true);
  } catch (const Error& error) {
    return error.text();
  }
  return "";
}

TEST(ModelPlans, SinksFollowTheHeadsWhateverTheDefaultPlanSaysOfThem) {
  const ModelConfig config = config_of("granite_swa", R"({"tie_word_embeddings": false})");
  std::vector<std::string> whole;
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
    whole.push_back("layers.*.self_attn." + std::string(name) + "=replicated");
  for (const auto& [overrides, style] : {std::pair(std::vector<std::string>{}, Style::kColwise), {whole, Style::kReplicated}}) {
    EXPECT_EQ(verdict(config, overrides), "");
    const ResolvedPlan plan = resolve_plan(load_plan({.overrides = overrides}, config, kPlans), config, 2);
    for (const PlannedModule& planned : plan.modules) {
      if (planned.module.role == Role::kSinks) {
        EXPECT_EQ(planned.style, style);
      }
    }
  }
  EXPECT_EQ(verdict(config_of("gpt_oss", R"({"num_local_experts": 4})"), {"layers.*.self_attn=local_params"}), "");
  EXPECT_EQ(verdict(config_of("llama"), {"layers.*.self_attn.q_proj=local_params"}),
            "--override layers.*.self_attn.q_proj=local_params: layers.*.self_attn.q_proj: `local_params` is for a module with "
            "bare parameters of its heads, such as attention sinks\n  fix: remove the rule");
}

TEST(ModelPlans, ExpertsThatAreStoredInOutAreCutByFeatures) {
  const ModelConfig config = config_of("llama4_text", "{}");
  EXPECT_EQ(verdict(config, {}), "");
  EXPECT_EQ(verdict(config, {"layers.*.feed_forward.experts.gate_up_proj=packed_colwise"}),
            "--override layers.*.feed_forward.experts.gate_up_proj=packed_colwise: layers.*.feed_forward.experts.gate_up_proj: "
            "`packed_colwise` is not for the weights of experts that are stored [in, out]\n"
            "  fix: use `packed_rowwise` or `grouped_gemm`");
  EXPECT_EQ(
      verdict(config_of("llama"), {"layers.*.mlp.down_proj=packed_rowwise"}),
      "--override layers.*.mlp.down_proj=packed_rowwise: layers.*.mlp.down_proj: `packed_rowwise` is for experts that are "
      "stored [in, out]; this weight is not fused along its input\n  fix: use `rowwise`");
}

}  // namespace
}  // namespace tp
