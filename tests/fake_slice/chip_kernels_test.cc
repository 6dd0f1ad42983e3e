// The example kernels in the programs of jobs on the fake slice: their CPU twins give the built-in operations' tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/sha256.h"
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

constexpr const char* kAppend = TPRUN_SOURCE_DIR "/examples/kernels/append_attention";

class ChipKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CPU_PLUGIN).empty()) GTEST_SKIP() << "lammps-jax-pjrt-cpu is not installed in the project's venv";
  }

  // A prompt of 5 tokens and 20 new ones in a cache of 32: one prefill of 16 positions and 19 steps.
  std::vector<std::string> arguments(int ranks, std::vector<std::string> more) {
    std::vector<std::string> words{
        "generate",     "--model",          TPRUN_SOURCE_DIR "/tests/golden/models/tiny_qwen3_vocab101",
        "--ids",        "3,100,51,50,7",    "--cache-len",
        "32",           "--max-new-tokens", "20",
        "--ignore-eos", "--format",         "json",
        "--output",     work_ / "out",      "--stats",
        work_ / "stats"};
    const std::vector<std::string> shared = shared_kv_heads(ranks);
    words.insert(words.end(), shared.begin(), shared.end());
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
    for (const auto& rank : json_file(work_ / "stats")["ranks"]) EXPECT_EQ(rank["kernels"], kAll) << ranks << " ranks";
  }
}

// The program hands its caches to the kernel and takes the kernel's: nothing else touches them, and they stay donated.
TEST_F(ChipKernels, InPlaceKeepTheCacheDonated) {
  const std::string built_in = run(1, {});
  for (int ranks : {1, 2, 4}) {
    EXPECT_EQ(run(ranks, {"--kernels", kAppend, "--dump-hlo", work_ / "hlo"}), built_in) << ranks << " ranks";
    EXPECT_EQ(json_file(work_ / "stats")["ranks"][0]["kernels"],
              nlohmann::json({{"append_attention", {{"append_attention", 38}}}}));
  }
  const std::string text = file_text(work_ / "hlo/decode.rank0.mlir");
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  // Keys and values of two layers.
  EXPECT_EQ(count("%cache_k.0: tensor<1x1x32x8xf32> {tf.aliasing_output = 1 : i32}"), 1);
  EXPECT_EQ(count("%cache_v.1: tensor<1x1x32x8xf32> {tf.aliasing_output = 4 : i32}"), 1);
  EXPECT_EQ(count("tf.aliasing_output"), 4);
  EXPECT_EQ(count("func.call @append_attention_1_1_1_8_32_float32_0_3535533905932738("), 2);
  EXPECT_EQ(count("%cache_k.0"), 2);  // the argument, and the call that takes it
  EXPECT_EQ(text.find("stablehlo.dynamic_update_slice"), std::string::npos);
}

TEST_F(ChipKernels, ThatDoNotWriteTheCacheInPlaceAreRefused) {
  const fs::path package = copy_of(kAppend);
  replace(package / "kernel.yaml", "    aliases: {3: 1, 4: 2}\n", "");
  EXPECT_THAT(
      refusal({"--kernels", package}),
      HasSubstr("kernel.yaml:9:5: writes other operands in place than append_attention does\n  fix: aliases: {3: 1, 4: 2}\n"));
  const fs::path other = copy_of(kAppend);
  replace(other / "kernel.yaml", "aliases: {3: 1, 4: 2}", "aliases: {1: 1, 4: 2}");
  EXPECT_THAT(refusal({"--kernels", other}), HasSubstr("kernel.yaml:15:15: operand 1 and result 1 are of different types\n"));
}

TEST_F(ChipKernels, WithoutAVariantAreRefusedUnlessThePlanAllowsTheBuiltInOperation) {
  EXPECT_THAT(
      refusal({"--kernels", kRmsNorm, "--dtype", "bfloat16"}),
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
  EXPECT_THAT(refusal({"--kernels", package}), HasSubstr("is (tensor<1x32xf32>,tensor<32xf32>)->tensor<1x32xf32>, norm needs "
                                                         "(tensor<16x32xf32>,tensor<32xf32>)->tensor<16x32xf32>"));
}

TEST_F(ChipKernels, ForAnUnknownOperationAreRefused) {
  const fs::path package = copy_of(kRmsNorm);
  replace(package / "kernel.yaml", "replaces: norm", "replaces: nrom");
  EXPECT_THAT(refusal({"--kernels", package}),
              HasSubstr("/kernel.yaml:5:11: no operation `nrom` can be replaced\n  fix: did you mean `norm`?"));
  std::ofstream(work_ / "plan.yaml") << "kernels:\n  attention: " << kAttention << "\n";
  EXPECT_THAT(
      refusal({"--plan", work_ / "plan.yaml"}),
      HasSubstr(
          "plan.yaml:2:3: no operation `attention` can be replaced\n  fix: one of: norm, decode_attention, append_attention"));
  std::ofstream(work_ / "plan.yaml") << "kernels:\n  norm: " << kAttention << "\n";
  EXPECT_THAT(refusal({"--plan", work_ / "plan.yaml"}),
              HasSubstr("plan.yaml:2:3: " + std::string(kAttention) + " replaces `decode_attention`, not `norm`"));
}

// The digest and the symbol of a fragment, changed together with it.
void rename_symbol(const fs::path& package, const std::string& file, const std::string& from, const std::string& to) {
  std::string text = file_text(package / file), yaml = file_text(package / "kernel.yaml");
  const std::string old_digest = sha256_hex(text);
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  std::ofstream(package / file) << text;
  for (const auto& [old_text, new_text] :
       {std::pair(old_digest, sha256_hex(text)), std::pair("symbol: " + from, "symbol: " + to)})
    yaml.replace(yaml.find(old_text), old_text.size(), new_text);
  std::ofstream(package / "kernel.yaml") << yaml;
}

TEST_F(ChipKernels, WithASymbolOfAnotherPackageAreRefused) {
  const fs::path package = copy_of(kAttention);
  rename_symbol(package, "stablehlo/cpu-1_4_2_8_32_float32_0_3535533905932738.mlir",
                "decode_attention_1_4_2_8_32_float32_0_3535533905932738", "rms_norm_rms_1_32_float32_1e_06");
  EXPECT_THAT(refusal({"--kernels", kRmsNorm, "--kernels", package}),
              HasSubstr("has the symbol @rms_norm_rms_1_32_float32_1e_06, which " + std::string(kRmsNorm) +
                        " has too\n  fix: export one of them under another name"));
}

TEST_F(ChipKernels, ThatCallWhatTheyMustNotAreRefused) {
  const fs::path package = copy_of(kRmsNorm);
  const std::string file = "stablehlo/cpu-rms_1_32_float32_1e_06.mlir";
  const std::string text = file_text(package / file);
  replace(package / file, "  return",
          "  %evil = stablehlo.custom_call @xla_python_cpu_callback(%arg0) : (tensor<1x32xf32>) -> tensor<1x32xf32>\n  return");
  replace(package / "kernel.yaml", sha256_hex(text), sha256_hex(file_text(package / file)));
  EXPECT_THAT(
      refusal({"--kernels", package}),
      HasSubstr(file +
                ": calls `xla_python_cpu_callback`, which a kernel for cpu must not\n  fix: write it without custom calls"));
}

// What pip notes beside libtpu tells its version; nothing is loaded.
TEST_F(ChipKernels, ThatLibtpuCannotReadAreRefused) {
  const fs::path packages = work_ / "lib";
  fs::create_directories(packages / "libtpu");
  fs::create_directories(packages / "libtpu-0.0.36.dist-info");
  std::ofstream(packages / "libtpu" / "libtpu.so") << "none";
  const fs::path package = copy_of(kRmsNorm);
  const std::vector<std::string> check{TPRUN,        "kernels", "check",         package,
                                       "--topology", "v5e:2x2", "--pjrt-plugin", packages / "libtpu" / "libtpu.so"};
  RankProcess old_libtpu(check, {});
  EXPECT_EQ(old_libtpu.wait(60s), 2);
  EXPECT_EQ(old_libtpu.output(), "tprun: error: " + (package / "kernel.yaml").string() +
                                     ": needs libtpu 0.0.42, this is 0.0.36\n  fix: pip install --upgrade libtpu\n");
  replace(package / "kernel.yaml", "min_libtpu: 0.0.42\n", "");
  RankProcess old_mosaic(check, {});
  EXPECT_EQ(old_mosaic.wait(60s), 2);
  EXPECT_EQ(old_mosaic.output(), "tprun: error: " + (package / "kernel.yaml").string() +
                                     ": its kernels are Mosaic of version 11, libtpu 0.0.36 reads up to 9\n"
                                     "  fix: a newer libtpu, or export them again with an older jax\n");
}

// A text of 40 tokens in windows of 32 leaves 8 for the last one: a program of 16 positions, which has no kernel.
TEST_F(ChipKernels, OfTheLastWindowAreMissedBeforeLaunch) {
  const fs::path package = copy_of(kRmsNorm);
  replace(package / "kernel.yaml", "tokens: 16, size: 32", "tokens: 32, size: 32");
  std::string ids = "1";
  for (int i = 2; i <= 40; ++i) ids += "," + std::to_string(i);
  std::ofstream(work_ / "texts.jsonl") << "{\"ids\": [" << ids << "]}\n";
  RankProcess job =
      tprun_on_chips(1, {"score", "--model", TPRUN_SOURCE_DIR "/tests/golden/models/tiny_qwen3_vocab101", "--input",
                         work_ / "texts.jsonl", "--window", "32", "--stride", "32", "--kernels", package});
  EXPECT_EQ(job.wait(60s), 2) << job.output();
  EXPECT_THAT(job.output(),
              HasSubstr("has no variant for cpu of norm {dtype: float32, eps: 1e-06, kind: rms, size: 32, tokens: 16}"));
  EXPECT_THAT(job.output(), testing::Not(HasSubstr("rank 0")));
}

}  // namespace
}  // namespace tp
