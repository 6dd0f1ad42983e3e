// Every text model that transformers 5.24 has a plan for runs here or is refused with what is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "sharding/error.h"
#include "sharding/families.h"
#include "sharding/json_document.h"
#include "sharding/unsupported_models.h"
#include "tests/sharding/made_config.h"

namespace tp {
namespace {

using testing::ContainerEq;

const std::set<std::string> kRuns = {"afmoe",
                                     "apertus",
                                     "apertus1p5_text",
                                     "arcee",
                                     "aria_text",
                                     "axk1",
                                     "codegen",
                                     "cohere",
                                     "cohere2",
                                     "cohere2_moe",
                                     "cwm",
                                     "deepseek_v2",
                                     "deepseek_v3",
                                     "deepseek_v32",
                                     "dots1",
                                     "ernie4_5",
                                     "ernie4_5_moe",
                                     "exaone",
                                     "exaone4",
                                     "exaone_moe",
                                     "flex_olmo",
                                     "flint",
                                     "gemma",
                                     "gemma2",
                                     "gemma3_text",
                                     "glm",
                                     "glm4",
                                     "glm4_moe",
                                     "glm4_moe_lite",
                                     "glm_moe_dsa",
                                     "gpt_neox",
                                     "gpt_oss",
                                     "gptj",
                                     "granite",
                                     "granite_swa",
                                     "granitemoe",
                                     "granitemoe_swa",
                                     "granitemoeshared",
                                     "helium",
                                     "hunyuan_v1_dense",
                                     "hunyuan_v1_moe",
                                     "hy_v3",
                                     "hyperclovax",
                                     "internlm3",
                                     "iquestcoder",
                                     "jais2",
                                     "kolibri1",
                                     "llama",
                                     "llama4_text",
                                     "mellum",
                                     "minicpm3",
                                     "minimax_m2",
                                     "ministral",
                                     "ministral3",
                                     "mistral",
                                     "mixtral",
                                     "nanochat",
                                     "nemotron",
                                     "olmo",
                                     "olmo2",
                                     "olmo3",
                                     "olmoe",
                                     "phi",
                                     "phi3",
                                     "phimoe",
                                     "qwen2",
                                     "qwen2_moe",
                                     "qwen3",
                                     "qwen3_moe",
                                     "sarvam_mla",
                                     "sarvam_moe",
                                     "seed_oss",
                                     "smollm3",
                                     "solar_open",
                                     "starcoder2",
                                     "vaultgemma",
                                     "youtu"};

const std::set<std::string> kRefused = {"axk2",
                                        "bailing_hybrid",
                                        "bamba",
                                        "beam",
                                        "cohere_compass_text",
                                        "deepseek_v4",
                                        "diffllama",
                                        "doge",
                                        "dory",
                                        "dots3_note_text",
                                        "falcon_h1",
                                        "gemma3n_text",
                                        "gemma4_text",
                                        "gemma4_unified_text",
                                        "granitemoehybrid",
                                        "hrm_text",
                                        "hy_v4",
                                        "inkling2_loop_text",
                                        "inkling2_text",
                                        "inkling_text",
                                        "jamba",
                                        "kimi_linear",
                                        "laguna",
                                        "lara_mini",
                                        "lfm2",
                                        "lfm2_moe",
                                        "lfm3",
                                        "longcat_flash",
                                        "mimo_v2_flash",
                                        "minimax",
                                        "minimax_m3_vl_text",
                                        "nemotron_h",
                                        "olmo_hybrid",
                                        "qwen3_5_moe_text",
                                        "qwen3_5_text",
                                        "qwen3_next",
                                        "qwen4_exp_text"};

TEST(ModelTypes, ThoseThatRun) {
  const std::vector<std::string> known = known_model_types();
  EXPECT_THAT(std::set<std::string>(known.begin(), known.end()), ContainerEq(kRuns));
}

TEST(ModelTypes, TheOthersAreRefusedWithTheReason) {
  for (const std::string& name : kRefused) {
    ASSERT_FALSE(unsupported_reason(name).empty()) << name;
    EXPECT_EQ(refusal(name, "{}"),
              "config.json: model_type `" + name + "` is not supported: " + std::string(unsupported_reason(name)));
  }
  EXPECT_EQ(refusal("axk2", "{}"),
            "config.json: model_type `axk2` is not supported: a sparse attention indexer chooses the keys of every query");
}

TEST(ModelTypes, NothingIsBothOrNeither) {
  for (const std::string& name : unsupported_model_types()) EXPECT_FALSE(kRuns.contains(name)) << name;
  EXPECT_EQ(kRuns.size() + kRefused.size(), 114u);
  const std::filesystem::path shared = std::filesystem::path(TPRUN_SOURCE_DIR) / "../shared/goldens/hf_tp_plans.json";
  if (!std::filesystem::exists(shared)) return;
  const Json plans = read_json_file(shared.string());
  for (const auto& [name, entry] : plans.items()) {
    if (!entry.value("decoder_only_text_lm", false)) continue;
    EXPECT_TRUE(kRuns.contains(name) || kRefused.contains(name)) << name;
  }
}

}  // namespace
}  // namespace tp
