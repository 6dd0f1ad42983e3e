// Quantized weights through the command line on the fake slice: the CPU's tokens, the memory that `plan show` says, and refusals
// before a rank is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/fake_slice/chip_job.h"

namespace tp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string kTiny = TPRUN_SOURCE_DIR "/examples/tiny", kStored = TPRUN_SOURCE_DIR "/tests/golden/quantized/";

class ChipQuantized : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CPU_PLUGIN).empty()) GTEST_SKIP() << "lammps-jax-pjrt-cpu is not installed in the project's venv";
  }

  static std::vector<std::string> generate(const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> words{"generate", "--model", model, "--ids", "1,17,5,42,8", "--max-new-tokens", "12",
                                   "--ignore-eos", "--no-echo"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  // What is said of a job on two chips that is refused before it begins.
  static std::string refused(const std::vector<std::string>& words) {
    RankProcess job = tprun_on_chips(2, words);
    EXPECT_EQ(job.wait(60s), 2);
    EXPECT_EQ(job.output().find("rank 0"), std::string::npos) << job.output();
    return job.output();
  }

  WorkDir work_;
};

TEST_F(ChipQuantized, TokensAreThoseOfTheCpu) {
  const auto ids_on = [&](RankProcess job) {
    EXPECT_EQ(job.wait(110s), 0) << job.output();
    return json_file(work_ / "out")["ids"];
  };
  const auto words = generate(kStored + "awq", {"--dtype", "float32", "--format", "json", "--output", work_ / "out"});
  const auto cpu = ids_on(tprun_on_cpu(words));
  EXPECT_EQ(cpu.size(), 12U);
  for (int ranks : {1, 2, 4}) EXPECT_EQ(ids_on(tprun_on_chips(ranks, words)), cpu) << ranks << " chips";
}

TEST_F(ChipQuantized, TakeTheMemoryThatPlanShowSays) {
  RankProcess job = tprun_on_chips(2, generate(kTiny, {"--weights", "int4", "--stats", work_ / "stats"}));
  ASSERT_EQ(job.wait(110s), 0) << job.output();
  RankProcess plan({TPRUN, "plan", "show", "--model", kTiny, "--tp", "2", "--weights", "int4", "--json", "--output", work_ / "plan"},
                   {});
  ASSERT_EQ(plan.wait(60s), 0) << plan.output();
  for (const auto& rank : json_file(work_ / "stats")["ranks"])
    EXPECT_EQ(rank["weights_bytes"], json_file(work_ / "plan")["bytes_per_chip"]);
}

TEST_F(ChipQuantized, WhatIsWrongIsRefusedBeforeARankStarts) {
  EXPECT_THAT(refused(generate(kTiny, {"--weights", "int4-128"})),
              HasSubstr("--weights int4-128: model.layers.0.mlp.down_proj: 384 inputs over 2 ranks"));
  EXPECT_THAT(refused(generate(kStored + "awq", {"--weights", "int8"})),
              HasSubstr("model.layers.0.self_attn.q_proj is stored quantized, and is used as it is stored"));
  std::ofstream(work_ / "plan.yaml") << "version: 1\nweights:\n  layers.*.mlp.up_proj: int4\n";
  EXPECT_THAT(refused(generate(kStored + "gptq", {"--plan", work_ / "plan.yaml"})),
              HasSubstr("plan.yaml:3:3: model.layers.0.mlp.up_proj is stored quantized, and is used as it is stored"));
  EXPECT_THAT(refused(generate(kStored + "gptq", {"--save-quantized", work_ / "new"})),
              HasSubstr("model.layers.0.self_attn.q_proj: is stored quantized already"));
}

TEST_F(ChipQuantized, ADamagedScaleIsRefusedByItsName) {
  std::filesystem::copy(kStored + "compressed_int8", work_ / "model");
  const std::string file = work_ / "model/model.safetensors", name = "model.layers.0.mlp.up_proj.weight_scale";
  const std::string text = file_text(file);
  const auto header_size = static_cast<int64_t>(*reinterpret_cast<const uint64_t*>(text.data()));
  const auto header = nlohmann::json::parse(text.substr(8, static_cast<size_t>(header_size)));
  std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
  damaged.seekp(8 + header_size + header[name]["data_offsets"][0].get<int64_t>());
  damaged.write("\xc0\x7f", 2);  // NaN
  damaged.close();
  EXPECT_THAT(refused(generate(work_ / "model", {})), HasSubstr(name + ": "));
}

}  // namespace
}  // namespace tp
