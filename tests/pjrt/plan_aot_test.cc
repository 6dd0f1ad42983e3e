// `plan aot`: what libtpu says of a model's programs against our own count, done here by hand from the published shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/fake_slice/rank_process.h"

namespace tp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kBf16 = 2, kF32 = 4, kI32 = 4;

struct Shapes {
  int64_t vocab, hidden, layers, heads, kv_heads, head_dim, intermediate;

  // Bytes of one of `tp` ranks.
  int64_t weights(int64_t tp) const {
    const int64_t attention = (2 * heads + 2 * kv_heads) * head_dim / tp * hidden;
    const int64_t mlp = 3 * intermediate / tp * hidden;
    return kBf16 * (2 * vocab / tp * hidden + layers * (attention + mlp + 2 * hidden) + hidden);
  }
  int64_t cache(int64_t tp, int64_t positions) const { return kBf16 * layers * 2 * (kv_heads / tp) * positions * head_dim; }
  // ids, start and length; cos and sin of half a head per position.
  int64_t decode_inputs() const { return 3 * kI32 + 2 * kF32 * head_dim / 2; }
};

constexpr Shapes kLlama8{128256, 4096, 32, 32, 8, 128, 14336};
constexpr Shapes kLlama70{128256, 8192, 80, 64, 8, 128, 28672};

struct AotRun {
  int code = 0;
  std::string said;
  nlohmann::json report;
};

AotRun plan_aot(const std::string& model, const std::vector<std::string>& more,
                const std::map<std::string, std::string>& environment = {}) {
  std::vector<std::string> words{
      TPRUN, "plan", "aot", "--model", TPRUN_SOURCE_DIR "/tests/fixtures/" + model + "/config.json", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  RankProcess process(words, environment);
  AotRun run{.code = process.wait(500s), .said = process.output()};
  const size_t begin = run.said.find("{\"topology\"");
  if (begin != std::string::npos)
    run.report = nlohmann::json::parse(run.said.substr(begin, run.said.find('\n', begin) - begin));
  return run;
}

class PlanAot : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(LIBTPU).empty()) GTEST_SKIP() << "libtpu is not installed in the project's venv";
  }
};

// What another client of libtpu, which nobody here wrote, says of a program's text.
void expect_same_of_prototype(const nlohmann::json& program, const std::string& text) {
#ifdef AOT_PROTOTYPE
  // Without it libtpu asks a metadata server, over and over, what host this is.
  RankProcess prototype({AOT_PROTOTYPE, LIBTPU, "v5e:2x2", text, "4", "1"}, {{"TPU_SKIP_MDS_QUERY", "1"}});
  ASSERT_EQ(prototype.wait(200s), 0) << prototype.output();
  for (const auto& [figure, name] : {std::pair("argument_bytes", "arg"), {"alias_bytes", "alias"}, {"peak_bytes", "peak"}}) {
    EXPECT_THAT(prototype.output(),
                HasSubstr(" " + std::string(name) + " " + std::to_string(program[figure].get<int64_t>()) + " "));
  }
#else
  static_cast<void>(program), static_cast<void>(text);
  GTEST_SKIP() << "../shared/tpu/prototype/aot.cc is not beside the project";
#endif
}

TEST_F(PlanAot, ArgumentsOfLlama8AreWeightsCacheAndInputs) {
  const std::filesystem::path dump = std::filesystem::path(testing::TempDir()) / "plan_aot_dump";
  const AotRun run = plan_aot(
      "llama-3.1-8b", {"--topology", "v5e:2x2", "--cache-len", "2048", "--prefill", "100", "--dump-hlo", dump.string()});
  ASSERT_EQ(run.code, 0) << run.said;
  const int64_t weights = kLlama8.weights(4), cache = kLlama8.cache(4, 2048);
  EXPECT_EQ(weights, 4015529984);
  EXPECT_EQ(cache, 67108864);
  EXPECT_EQ(run.report["weights_bytes"], weights);
  EXPECT_EQ(run.report["cache_bytes"], cache);
  EXPECT_EQ(run.report["tp_size"], 4);
  ASSERT_EQ(run.report["programs"].size(), 2U);
  for (const auto& program : run.report["programs"]) {
    SCOPED_TRACE(program["name"].get<std::string>());
    const auto own = static_cast<double>(weights + cache + kLlama8.decode_inputs());
    EXPECT_NEAR(program["argument_bytes"].get<double>(), own, own / 1000);
    EXPECT_EQ(program["alias_bytes"], cache);
    EXPECT_GT(program["peak_bytes"], program["argument_bytes"]);
    EXPECT_EQ(program["limit_bytes"], 16909334528);
    // The embedding, and two sums in each layer; the head's parts are gathered.
    EXPECT_EQ(program["collectives"]["all_reduce"]["count"], 65);
    EXPECT_EQ(program["collectives"]["all_gather"]["count"], 1);
  }
  EXPECT_EQ(run.report["programs"][0]["name"], "prefill_128");
  EXPECT_EQ(run.report["programs"][0]["collectives"]["all_reduce"]["bytes"], 65 * 128 * 4096 * kF32);
  EXPECT_EQ(run.report["programs"][1]["name"], "decode");
  EXPECT_EQ(run.report["programs"][1]["collectives"]["all_gather"]["bytes"], 128256 * kF32);
  EXPECT_EQ(run.report["fits"], true);
  expect_same_of_prototype(run.report["programs"][1], dump / "decode.mlir");
}

// A chip of v5e has 15.75 GiB; nothing is compiled to know that 33 do not fit.
TEST_F(PlanAot, OfLlama70OnFourChipsIsRefusedWithTheFigure) {
  const AotRun run = plan_aot("llama-3.3-70b", {"--topology", "v5e:2x2", "--cache-len", "2048", "--prefill", "100"});
  ASSERT_EQ(run.code, 2) << run.said;
  const nlohmann::json& decode = run.report["programs"][1];
  EXPECT_EQ(decode["argument_bytes"], kLlama70.weights(4) + kLlama70.cache(4, 2048) + kLlama70.decode_inputs());
  EXPECT_EQ(decode["argument_bytes"], 35446604300);
  EXPECT_EQ(decode["limit_bytes"], 16909334528);
  EXPECT_EQ(decode["refusal"], "its arguments alone are larger than the memory of a device");
  EXPECT_EQ(run.report["fits"], false);
  EXPECT_THAT(run.report["advice"].get<std::string>(), StartsWith("other chips: --topology v6e:2x4"));
}

// Two norms in each layer and the last one; in the prefill that one is of a single position.
TEST_F(PlanAot, WithKernelsCountsTheirCallsBesideTheBuiltIn) {
  const std::string kernels = TPRUN_SOURCE_DIR "/examples/kernels/";
  const AotRun run = plan_aot("llama-3.1-8b", {"--topology", "v5e:2x2", "--cache-len", "2048", "--prefill", "100", "--kernels",
                                               kernels + "rms_norm", "--kernels", kernels + "decode_attention"});
  ASSERT_EQ(run.code, 0) << run.said;
  const nlohmann::json& prefill = run.report["programs"][0];
  const nlohmann::json& decode = run.report["programs"][1];
  EXPECT_EQ(prefill["kernels"], nlohmann::json({{"norm", {{"rms_norm", 65}}}}));
  EXPECT_EQ(decode["kernels"],
            nlohmann::json({{"norm", {{"rms_norm", 65}}}, {"decode_attention", {{"decode_attention", 32}}}}));
  for (const auto& program : run.report["programs"]) {
    EXPECT_GT(program["built_in"]["temp_bytes"], 0);
    EXPECT_GT(program["built_in"]["peak_bytes"], program["argument_bytes"]);
    EXPECT_GT(program["peak_bytes"], program["argument_bytes"]);
  }
}

// A kernel that writes the cache in place needs no copy of it: as much is aliased, and no more memory is taken, as without it.
TEST_F(PlanAot, WithAKernelInPlaceTheCacheIsStillDonated) {
  const AotRun run = plan_aot("llama-3.1-8b", {"--topology", "v5e:2x2", "--cache-len", "2048", "--prefill", "100", "--kernels",
                                               TPRUN_SOURCE_DIR "/examples/kernels/append_attention"});
  ASSERT_EQ(run.code, 0) << run.said;
  const nlohmann::json& decode = run.report["programs"][1];
  EXPECT_EQ(decode["kernels"], nlohmann::json({{"append_attention", {{"append_attention", 32}}}}));
  EXPECT_EQ(decode["alias_bytes"], run.report["cache_bytes"]);
  // Measured: libtpu holds the keys and values of one layer beside the built-in's peak, never the cache of all 32.
  const int64_t more = decode["peak_bytes"].get<int64_t>() - decode["built_in"]["peak_bytes"].get<int64_t>();
  EXPECT_LT(more, 2 * run.report["cache_bytes"].get<int64_t>() / 32);
}

TEST(PlanAotAlone, WithoutLibtpuSaysHowToGetIt) {
  const AotRun run = plan_aot("llama-3.1-8b", {"--topology", "v5e:2x2"}, {{"TPU_LIBRARY_PATH", "/nowhere/libtpu.so"}});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.said,
            "tprun: error: TPU_LIBRARY_PATH: no such file: /nowhere/libtpu.so\n"
            "  fix: pip install libtpu; or give its file: --pjrt-plugin FILE\n");
}

}  // namespace
}  // namespace tp
