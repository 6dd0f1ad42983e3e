// The example kernels in the programs of jobs on the fake slice: their CPU twins give the built-in operations' tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fake_slice/chip_job.h"

namespace tp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kRmsNorm = TPRUN_SOURCE_DIR "/examples/kernels/rms_norm";
constexpr const char* kAttention = TPRUN_SOURCE_DIR "/examples/kernels/decode_attention";

// Of the two layers each has 2 norms of the hidden size and 2 of heads, and one norm is the last: 9 in a program, 20 programs
// run; 2 calls of attention in each of the 19 steps.
const nlohmann::json kAll = {{"norm", {{"rms_norm", 180}}}, {"decode_attention", {{"decode_attention", 38}}}};

class ChipKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CPU_PLUGIN).empty()) GTEST_SKIP() << "lammps-jax-pjrt-cpu is not installed in the project's venv";
  }

  // A prompt of 5 tokens and 20 new ones in a cache of 32: one prefill of 16 positions and 19 steps.
  std::vector<std::string> arguments(int ranks, std::vector<std::string> more) {
    std::vector<std::string> words{"generate",        "--model",     TPRUN_SOURCE_DIR "/tests/golden/models/tiny_qwen3_vocab101",
                                   "--ids",           "3,100,51,50,7", "--cache-len", "32",
                                   "--max-new-tokens", "20",          "--ignore-eos",
                                   "--format",        "json",        "--output",    work_ / "out",
                                   "--stats",         work_ / "stats"};
    if (ranks == 4) {
      words.insert(words.end(), {"--override", "layers.*.self_attn.k_proj=kv_replicated", "--override",
                                 "layers.*.self_attn.v_proj=kv_replicated"});
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::string run(int ranks, std::vector<std::string> more) {
    RankProcess job = tprun_on_chips(ranks, arguments(ranks, std::move(more)));
    EXPECT_EQ(job.wait(110s), 0) << job.output();
    return file_text(work_ / "out");
  }

  // What the job says when it is refused.
  std::string refusal(std::vector<std::string> more) {
    RankProcess job = tprun_on_chips(1, arguments(1, std::move(more)));
    EXPECT_EQ(job.wait(60s), 2) << job.output();
    EXPECT_FALSE(fs::exists(work_ / "out"));
    return job.output();
  }

  // A copy of a package that a test may change.
  fs::path copy_of(const std::string& package) {
    const fs::path copy = work_ / "package";
    fs::remove_all(copy);
    fs::copy(package, copy, fs::copy_options::recursive);
    return copy;
  }
  void replace(const fs::path& file, const std::string& from, const std::string& to) {
    std::string text = file_text(file);
    ASSERT_NE(text.find(from), std::string::npos) << file << ": " << from;
    text.replace(text.find(from), from.size(), to);
    std::ofstream(file) << text;
  }

  WorkDir work_;
};

TEST_F(ChipKernels, GiveTheBuiltInTokensOnOneTwoAndFourChips) {
  const std::string built_in = run(1, {});
  EXPECT_FALSE(json_file(work_ / "stats")["ranks"][0].contains("kernels"));
  for (int ranks : {1, 2, 4}) {
    EXPECT_EQ(run(ranks, {"--kernels", kRmsNorm, "--kernels", kAttention}), built_in) << ranks << " ranks";
    for (const auto& rank : json_file(work_ / "stats")["ranks"])
      EXPECT_EQ(rank["kernels"], kAll) << ranks << " ranks";
  }
}

TEST_F(ChipKernels, WithoutAVariantAreRefusedUnlessThePlanAllowsTheBuiltInOperation) {
  EXPECT_THAT(refusal({"--kernels", kRmsNorm, "--dtype", "bfloat16"}),
              HasSubstr("tprun: error: " + std::string(kRmsNorm) +
                        "/kernel.yaml: has no variant for cpu of norm {dtype: bfloat16, eps: 1e-06, kind: rms, size: 32, tokens: 16}"
                        "\n  fix: export one, or allow the built-in operation in a plan: kernels: {norm: {kernel: "));
  std::ofstream(work_ / "plan.yaml") << "kernels:\n  norm: {kernel: " << kRmsNorm << ", fallback: builtin}\n";
  run(1, {"--plan", work_ / "plan.yaml", "--dtype", "bfloat16"});
  EXPECT_EQ(json_file(work_ / "stats")["ranks"][0]["kernels"], nlohmann::json({{"norm", {{"builtin", 180}}}}));
  run(1, {"--plan", work_ / "plan.yaml"});
  EXPECT_EQ(json_file(work_ / "stats")["ranks"][0]["kernels"], nlohmann::json({{"norm", {{"rms_norm", 180}}}}));
}

TEST_F(ChipKernels, ThatAreNotSoundAreRefused) {
  EXPECT_THAT(refusal({"--kernels", kRmsNorm, "--kernels", kRmsNorm}),
              HasSubstr("replaces `norm`, as " + std::string(kRmsNorm) + " does\n  fix: give one of them"));
  const fs::path attention = copy_of(kAttention);
  const std::string file = "stablehlo/cpu-1_4_2_8_32_float32_0_3535533905932738.mlir";
  replace(attention / file, "stablehlo.add", "stablehlo.add ");
  EXPECT_THAT(refusal({"--kernels", attention}), HasSubstr(file + ": has the digest "));
}

// The kernel of one row where sixteen are normalized would compile and compute nonsense.
TEST_F(ChipKernels, OfAnotherTypeThanTheOperationAreRefused) {
  const fs::path package = copy_of(kRmsNorm);
  replace(package / "kernel.yaml", "tokens: 16, size: 32", "tokens: 17, size: 32");
  replace(package / "kernel.yaml", "tokens: 1, size: 32", "tokens: 16, size: 32");
  EXPECT_THAT(refusal({"--kernels", package}),
              HasSubstr("is (tensor<1x32xf32>,tensor<32xf32>)->tensor<1x32xf32>, norm needs "
                        "(tensor<16x32xf32>,tensor<32xf32>)->tensor<16x32xf32>"));
}

}  // namespace
}  // namespace tp
