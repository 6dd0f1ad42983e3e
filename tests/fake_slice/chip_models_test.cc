// Models of different families through the command line on the fake slice: the references' tokens, which are the CPU's too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tests/fake_slice/chip_job.h"
#include "tests/runtime/golden_case.h"

namespace tp {
namespace {

using namespace std::chrono_literals;

constexpr int kNewTokens = 24;

struct ModelCase {
  std::string name;
  std::vector<std::string> at_four = {};  // what four ranks need on top
};

void PrintTo(const ModelCase& model, std::ostream* out) {
  *out << model.name;
}

const std::vector<std::string> kSharedKv = shared_kv_heads(4);

class ChipModels : public testing::TestWithParam<ModelCase> {
 protected:
  void SetUp() override {
    if (std::string(CPU_PLUGIN).empty()) GTEST_SKIP() << "lammps-jax-pjrt-cpu is not installed in the project's venv";
    for (const auto& path : golden_cases()) {
      if (path.filename() == GetParam().name) dir_ = path;
    }
    if (dir_.empty()) GTEST_SKIP() << GetParam().name << " is one of the goldens beside the project, which are not there";
  }

  // Prompts of 5 and 17 tokens: two buckets.
  std::vector<std::string> arguments(const std::string& output) {
    std::ofstream prompts(work_ / "prompts.jsonl");
    const GoldenCase golden(dir_);
    for (const char* prompt : {"prompt.1", "prompt.2"})
      prompts << nlohmann::json{{"ids", golden.ids(std::string(prompt) + ".input_ids")}}.dump() << "\n";
    return {"generate",   "--model",     dir_,      "--input",          work_ / "prompts.jsonl",    "--dtype", "float32",
            "--tied",     "untie",       "--batch", "2",                "--max-new-tokens",         std::to_string(kNewTokens),
            "--format",   "json",        "--output", output,            "--ignore-eos"};
  }

  WorkDir work_;
  std::filesystem::path dir_;
};

// Of the programs that the ranks dumped: one text each.
void expect_one_text(const WorkDir& work, int ranks) {
  for (const std::string program : {"prefill_16", "prefill_32", "decode"}) {
    std::set<size_t> hashes;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string text = file_text(work / ("hlo/" + program + ".rank" + std::to_string(rank) + ".mlir"));
      EXPECT_NE(text.find("stablehlo.all_reduce"), std::string::npos) << program << " of rank " << rank;
      hashes.insert(std::hash<std::string>{}(text));
    }
    EXPECT_EQ(hashes.size(), 1U) << program;
  }
}

TEST_P(ChipModels, GiveTheReferencesTokensFromOneTextOnEveryRank) {
  RankProcess cpu = tprun_on_cpu(arguments(work_ / "cpu"));
  ASSERT_EQ(cpu.wait(60s), 0) << cpu.output();
  const GoldenCase golden(dir_);
  const std::vector<nlohmann::json> lines = json_lines(work_ / "cpu");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["ids"], golden.ids("prompt.1.generated"));
  EXPECT_EQ(lines[1]["ids"], golden.ids("prompt.2.generated"));
  for (int ranks : {1, 4}) {
    std::vector<std::string> words = arguments(work_ / "chips");
    if (ranks == 4) {
      words.insert(words.end(), {"--dump-hlo", work_ / "hlo"});
      words.insert(words.end(), GetParam().at_four.begin(), GetParam().at_four.end());
    }
    RankProcess chips = tprun_on_chips(ranks, words);
    ASSERT_EQ(chips.wait(110s), 0) << ranks << " ranks: " << chips.output();
    EXPECT_EQ(file_text(work_ / "chips"), file_text(work_ / "cpu")) << ranks << " ranks";
  }
  expect_one_text(work_, 4);
}

INSTANTIATE_TEST_SUITE_P(Small, ChipModels,
                         testing::Values(ModelCase{"tiny_llama_llama3", kSharedKv}, ModelCase{"tiny_qwen3_vocab101", kSharedKv},
                                         ModelCase{"tiny_glm4", kSharedKv}, ModelCase{"tiny_gemma3", kSharedKv},
                                         ModelCase{"tiny_starcoder2", kSharedKv}, ModelCase{"tiny_deepseek_v3"},
                                         ModelCase{"tiny_mixtral", kSharedKv}, ModelCase{"tiny_gpt_oss"},
                                         ModelCase{"qwen3_vocab257"}),
                         [](const auto& model) { return model.param.name; });

}  // namespace
}  // namespace tp
