// The default plans against transformers' own, as goldens/hf_tp_plans.json has them.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "sharding/plan_yaml.h"

namespace tp {
namespace {

const std::filesystem::path kPlans = std::filesystem::path(TPRUN_SOURCE_DIR) / "plans";

std::vector<std::string> families_with_a_plan() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kPlans)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  return names;
}

std::map<std::string, std::string> rules_of(const std::string& family) {
  ModelConfig config;
  config.model_type = family;
  std::map<std::string, std::string> rules;
  for (const PlanRule& rule : load_plan({}, config, kPlans).rules) {
    EXPECT_TRUE(rules.emplace(rule.pattern, style_info(rule.style).name).second) << family << ": " << rule.pattern << " twice";
  }
  return rules;
}

// What transformers 5.24 runs with: the plans of the base model and of the head, and the rule that it adds.
std::map<std::string, std::string> expected_of(const nlohmann::json& golden) {
  std::map<std::string, std::string> rules;
  for (const char* part : {"base", "head"}) {
    if (!golden.contains(part)) continue;
    for (const auto& [pattern, style] : golden.at(part).items()) {
      rules[pattern] = style_info(*style_from_name(style.get<std::string>())).name;
    }
  }
  rules.emplace("embed_tokens", "embedding_rowwise");
  return rules;
}

TEST(DefaultPlans, EqualTransformersOwn) {
  const std::filesystem::path shared = std::filesystem::path(TPRUN_SOURCE_DIR) / "../shared/goldens/hf_tp_plans.json";
  const std::filesystem::path committed = std::filesystem::path(TPRUN_SOURCE_DIR) / "tests/sharding/hf_tp_plans.json";
  for (const std::filesystem::path& path : {committed, shared}) {
    if (!std::filesystem::exists(path)) continue;
    std::ifstream in(path);
    const nlohmann::json goldens = nlohmann::json::parse(in);
    for (const std::string& family : families_with_a_plan()) {
      ASSERT_TRUE(goldens.contains(family)) << family << " in " << path;
      EXPECT_EQ(rules_of(family), expected_of(goldens.at(family))) << family << " in " << path;
    }
  }
}

TEST(DefaultPlans, LlamaWrittenOut) {
  const std::map<std::string, std::string> expected = {
      {"embed_tokens", "embedding_rowwise"},    {"layers.*.self_attn.q_proj", "colwise"},
      {"layers.*.self_attn.k_proj", "colwise"}, {"layers.*.self_attn.v_proj", "colwise"},
      {"layers.*.self_attn.o_proj", "rowwise"}, {"layers.*.mlp.gate_proj", "colwise"},
      {"layers.*.mlp.up_proj", "colwise"},      {"layers.*.mlp.down_proj", "rowwise"},
      {"lm_head", "colwise_gather_output"},
  };
  EXPECT_EQ(rules_of("llama"), expected);
}

}  // namespace
}  // namespace tp
