// Torch operators of kernels from the Hub in the CPU engine, from the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fake_slice/chip_job.h"
#include "tests/operators/operator_package.h"
#include "tests/runtime/golden_case.h"

namespace tp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kModel = TPRUN_SOURCE_DIR "/tests/golden/models/tiny_qwen3_vocab101";
constexpr int kNewTokens = 24;

class OperatorKernels : public testing::Test {
 protected:
  // A prompt of 5 tokens: one prefill and 23 steps.
  std::vector<std::string> arguments(int ranks, const std::string& model, std::vector<std::string> more) {
    const GoldenCase golden(model);
    std::ofstream(work_ / "prompts.jsonl") << nlohmann::json{{"ids", golden.ids("prompt.1.input_ids")}}.dump() << "\n";
    std::vector<std::string> words{"-n",
                                   std::to_string(ranks),
                                   "generate",
                                   "--model",
                                   model,
                                   "--input",
                                   work_ / "prompts.jsonl",
                                   "--dtype",
                                   "float32",
                                   "--max-new-tokens",
                                   std::to_string(kNewTokens),
                                   "--ignore-eos",
                                   "--format",
                                   "json",
                                   "--output",
                                   work_ / "out",
                                   "--stats",
                                   work_ / "stats"};
    const std::vector<std::string> shared = shared_kv_heads(ranks);
    words.insert(words.end(), shared.begin(), shared.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  nlohmann::json tokens(int ranks, std::vector<std::string> more, const std::string& model = kModel) {
    RankProcess job = tprun_on_cpu(arguments(ranks, model, std::move(more)));
    EXPECT_EQ(job.wait(60s), 0) << job.output();
    return json_lines(work_ / "out").at(0)["ids"];
  }
  nlohmann::json kernels_of_rank_0() { return json_file(work_ / "stats")["ranks"][0].value("kernels", nlohmann::json()); }

  // What the job says when it is refused.
  std::string refusal(std::vector<std::string> more, const std::string& model = kModel) {
    RankProcess job = tprun_on_cpu(arguments(1, model, std::move(more)));
    EXPECT_EQ(job.wait(60s), 2) << job.output();
    EXPECT_FALSE(fs::exists(work_ / "out"));
    return job.output();
  }
  std::string refused_package(const std::string& kind, const std::string& variant = "") {
    return refusal({"--kernels", package(kind, variant)});
  }

  std::string package(const std::string& kind, const std::string& variant = "") {
    return operator_package(work_ / kind, kind, variant).string();
  }
  std::string library(const std::string& kind, const std::string& variant = torch_variant()) {
    return work_ / (kind + "/build/" + variant + "/" + operator_namespace(kind) + ".abi3.so");
  }
  std::string plan(const std::string& kernels) {
    std::ofstream(work_ / "plan.yaml") << "kernels:\n  norm: " << kernels << "\n";
    return work_ / "plan.yaml";
  }

  WorkDir work_;
};

// Of the two layers each has 2 norms of the hidden size and 2 of heads, and one norm is the last: 9 in a call, 24 calls.
TEST_F(OperatorKernels, GiveTheGoldensOnOneTwoAndFourRanks) {
  const auto golden = GoldenCase(kModel).ids("prompt.1.generated");
  EXPECT_EQ(tokens(1, {}), golden);
  EXPECT_EQ(kernels_of_rank_0(), nlohmann::json());
  for (const std::string kind : {"returns", "writes"}) {
    const std::string dir = package(kind);
    for (int ranks : {1, 2, 4}) {
      EXPECT_EQ(tokens(ranks, {"--kernels", dir}), golden) << kind << ", " << ranks << " ranks";
      for (const auto& rank : json_file(work_ / "stats")["ranks"])
        EXPECT_EQ(rank["kernels"], nlohmann::json({{"norm", {{"rms-norm", 216}}}})) << kind << ", " << ranks << " ranks";
    }
  }
}

TEST_F(OperatorKernels, OfTheStableAbiRunWithTorchOfThatVersionAndNewer) {
  const std::string cpu = torch_variant().substr(torch_variant().find("cpu-"));
  EXPECT_EQ(tokens(1, {"--kernels", package("stable", "torch-stable-abi29-" + cpu)}),
            GoldenCase(kModel).ids("prompt.1.generated"));
  EXPECT_EQ(kernels_of_rank_0(), nlohmann::json({{"norm", {{"rms-norm", 216}}}}));
  fs::remove(work_ / "out");
  fs::rename(work_ / ("stable/build/torch-stable-abi29-" + cpu), work_ / ("stable/build/torch-stable-abi299-" + cpu));
  EXPECT_THAT(refusal({"--kernels", work_ / "stable"}), HasSubstr("was built for another torch than "));
}

TEST_F(OperatorKernels, MayBeNamedInAPlanWhichSaysTheOperator) {
  const std::string dir = package("name");
  EXPECT_THAT(refusal({"--kernels", dir}),
              HasSubstr("tprun: error: " + library("name") +
                        ": registers no operator `rms_norm`, `apply_rms_norm`, `rmsnorm` in _rms_norm_cpu_name; it has "
                        "`normalize_rows`\n  fix: name it in a plan: kernels: {norm: {kernel: DIR, operator: NAME}}\n"));
  const auto golden = GoldenCase(kModel).ids("prompt.1.generated");
  EXPECT_EQ(tokens(1, {"--plan", plan("{kernel: " + dir + ", operator: normalize_rows}")}), golden);
  EXPECT_EQ(kernels_of_rank_0(), nlohmann::json({{"norm", {{"rms-norm", 216}}}}));
  EXPECT_EQ(tokens(1, {"--plan", plan("{tpu: /nowhere, cpu: {kernel: " + dir + ", operator: normalize_rows}}")}), golden);
  EXPECT_EQ(kernels_of_rank_0(), nlohmann::json({{"norm", {{"rms-norm", 216}}}}));
  // A kernel.yaml can say it too.
  std::ofstream(dir + "/kernel.yaml") << "schema: 1\nname: mine\nversion: 1\nlicense: Apache-2.0\nreplaces: norm\n"
                                         "operator: normalize_rows\n";
  EXPECT_EQ(tokens(1, {"--kernels", dir}), golden);
  EXPECT_EQ(kernels_of_rank_0(), nlohmann::json({{"norm", {{"mine", 216}}}}));
}

TEST_F(OperatorKernels, OfAFormThatTheModelHasNotAreRefusedUnlessThePlanAllowsTheBuiltInOperation) {
  const std::string dir = package("returns"), model = TPRUN_SOURCE_DIR "/tests/golden/models/tiny_starcoder2";
  EXPECT_THAT(refusal({"--kernels", dir}, model),
              HasSubstr("tprun: error: " + dir +
                        ": its operator is norm {kind: rms}, the model has norm {kind: layer of another form}\n"
                        "  fix: leave it out, or allow the built-in operation in a plan: kernels: {norm: {kernel: " +
                        dir + ", fallback: builtin}}\n"));
  EXPECT_EQ(tokens(1, {"--plan", plan("{kernel: " + dir + ", fallback: builtin}")}, model),
            GoldenCase(model).ids("prompt.1.generated"));
  EXPECT_EQ(kernels_of_rank_0()["norm"].size(), 1U);
  EXPECT_GT(kernels_of_rank_0()["norm"]["builtin"], 0);
}

TEST_F(OperatorKernels, BuiltForAnotherTorchAreRefused) {
  EXPECT_THAT(refused_package("returns", torch_variant(-1)),
              HasSubstr("tprun: error: " + (work_ / "returns") + ": was built for another torch than " +
                        std::string(TORCH_VERSION, 4) + ", which runs here: " + torch_variant(-1) + "\n"));
  // Whatever its directory says: the symbols decide.
  EXPECT_THAT(refused_package("torch"), HasSubstr("tprun: error: " + library("torch") +
                                                  ": needs `_ZN3c1016of_another_torchEv`, which nothing here has: "
                                                  "it was built for another torch than " TORCH_VERSION "\n"));
  EXPECT_THAT(refused_package("form", "torch-cpu"), HasSubstr("has no build for this CPU (cpu-"));
}

TEST_F(OperatorKernels, ThatNeedPythonAreRefusedByName) {
  EXPECT_THAT(refused_package("python"),
              HasSubstr("tprun: error: " + library("python") +
                        ": needs Python (PyErr_SetString), which does not run here\n"
                        "  fix: a kernel whose operators are registered with TORCH_LIBRARY alone\n"));
}

TEST_F(OperatorKernels, WithOtherFilesThanTheirMetadataSaysAreRefused) {
  const std::string dir = package("returns"), build = dir + "/build/" + torch_variant();
  std::ofstream(build + "/extra.py") << "print(1)\n";
  EXPECT_THAT(refusal({"--kernels", dir}), HasSubstr(build + "/extra.py: metadata.json knows no such file\n"));
  fs::rename(build + "/extra.py", build + "/_ops.py");
  EXPECT_THAT(refusal({"--kernels", dir}), HasSubstr(build + "/_ops.py: has the digest "));
  fs::remove(build + "/_ops.py");
  EXPECT_THAT(refusal({"--kernels", dir}), HasSubstr(build + "/_ops.py: is missing, metadata.json names it\n"));
  std::ofstream(build + "/metadata.json") << R"({"id": "_rms_norm_cpu_returns", "name": "rms-norm"})";
  EXPECT_THAT(refusal({"--kernels", dir}), HasSubstr(build + "/metadata.json: has no digest of the build's files\n"));
}

TEST_F(OperatorKernels, WhoseOperatorDoesNotFitAreRefused) {
  EXPECT_THAT(refused_package("form"),
              HasSubstr("rms_norm(Tensor x, int[] normalized_shape, Tensor? weight) -> Tensor` does not fit norm\n"));
  EXPECT_THAT(refused_package("device"),
              HasSubstr(library("device") + ": `_rms_norm_cpu_device::rms_norm` has no implementation for the CPU\n"));
}

TEST_F(OperatorKernels, ThatEndTheProcessAreRefused) {
  EXPECT_THAT(refused_package("aborts"),
              HasSubstr("tprun: error: " + (work_ / "aborts") + ": its library ends the process that loads it\n"));
}

TEST_F(OperatorKernels, AreGivenOnce) {
  const std::string first = package("returns"), second = package("writes");
  EXPECT_THAT(refusal({"--kernels", first, "--kernels", second}),
              HasSubstr(second + ": replaces `norm`, as " + first + " does\n"));
  EXPECT_THAT(
      refusal({"--kernels", first, "--kernels", first}),
      HasSubstr(library("returns") + ": its operators are in `_rms_norm_cpu_returns`, as those of " + first + " are\n"));
}

// A model's own directory is never asked.
TEST_F(OperatorKernels, AreNotTakenFromTheModel) {
  const std::string model = work_ / "model";
  fs::copy(kModel, model);
  operator_package(model, "aborts");
  EXPECT_EQ(tokens(1, {}, model), GoldenCase(kModel).ids("prompt.1.generated"));
  EXPECT_EQ(kernels_of_rank_0(), nlohmann::json());
}

TEST_F(OperatorKernels, ForChipsAloneAreRefusedOnTheCpu) {
  EXPECT_THAT(refusal({"--kernels", TPRUN_SOURCE_DIR "/examples/kernels/rms_norm"}),
              HasSubstr("tprun: error: " TPRUN_SOURCE_DIR
                        "/examples/kernels/rms_norm: has no library of operators for the CPU (build/torch…-cpu-"));
  EXPECT_THAT(
      refusal({"--kernels", TPRUN_SOURCE_DIR "/examples/kernels/decode_attention"}),
      HasSubstr(
          "/decode_attention: no torch operator can replace `decode_attention`\n  fix: leave it out with --device cpu\n"));
}

TEST_F(OperatorKernels, AreListedAndChecked) {
  const std::string dir = package("returns");
  RankProcess list({TPRUN, "kernels", "list", dir}, {});
  EXPECT_EQ(list.wait(60s), 0);
  EXPECT_EQ(list.output(), "rms-norm 1 (Apache-2.0): replaces norm\n  torch operators: build/" + torch_variant() + "\n");
  RankProcess check({TPRUN, "kernels", "check", dir}, {});
  EXPECT_EQ(check.wait(60s), 0) << check.output();
  EXPECT_EQ(check.output(), list.output() + "digests, functions and signatures are right\n");
  RankProcess refused({TPRUN, "kernels", "check", package("python")}, {});
  EXPECT_EQ(refused.wait(60s), 2);
  EXPECT_THAT(refused.output(), HasSubstr("needs Python (PyErr_SetString)"));
}

}  // namespace
}  // namespace tp
