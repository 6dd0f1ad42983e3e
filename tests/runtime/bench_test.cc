// The fields of `bench --json`. It measures memory bandwidth for a second or two, so it is no unit test.
#include "runtime/bench.h"

#include <gmock/gmock.h>

#include "runtime/bench_run.h"
#include "runtime/collectives_inproc.h"
#include "runtime/step_cost.h"
#include "tests/runtime/model_report.h"
#include "tests/runtime/scripted_engine.h"

namespace tp {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;

using BenchJson = ModelReport;

TEST_F(BenchJson, CountsTheBytesOfAStep) {
  Job job;
  job.command = "bench";
  job.model_dir = dir_;
  job.bench_prompts = {20};
  job.bench_new = 8;
  job.bench_json = true;
  testing::internal::CaptureStdout();
  run_ranks(2, [&](Communicator& communicator) {
    const RankModel model = load(communicator);
    ScriptedEngine engine(1, 64, 8);
    const std::atomic<int> none{0};
    Timeline timeline;
    run_bench(job, model, engine, communicator, timeline, none);
  });
  const Json report = Json::parse(testing::internal::GetCapturedStdout());
  EXPECT_THAT(keys(report), ElementsAre("runs"));
  ASSERT_EQ(report["runs"].size(), 1u);
  const Json run = report["runs"][0];
  EXPECT_THAT(keys(run),
              ElementsAre("anonymous_bytes", "bandwidth_ratio", "batch", "bytes_per_token", "collective_ratio",
                          "collective_us_per_token", "copy_bytes_per_s", "decode_tokens_per_s", "flops_ratio", "load_ratio",
                          "load_s", "new", "peak_flops_per_s", "prefill_flops_per_s", "prefill_tokens_per_s", "prompt",
                          "read_bandwidth_bytes_per_s", "tp_size", "wait_ratio", "weight_bytes"));
  EXPECT_EQ(run["tp_size"], 2);
  EXPECT_EQ(run["prompt"], 20);
  EXPECT_EQ(run["new"], 8);
  EXPECT_EQ(run["batch"], 1);
  // Both ranks: one row of the embedding, lm_head 64, attention 4 * 64, mlp 3 * 48 shared by them, 3 norms of 8 on each, in
  // float32; and 20 + 4 positions of 8 bytes in each cache.
  EXPECT_EQ(run["bytes_per_token"], 4 * (8 + 64 + 256 + 144 + 2 * 24) + 2 * 24 * 8);
  EXPECT_GT(run["prefill_tokens_per_s"], 0.0);
  EXPECT_GT(run["decode_tokens_per_s"], 0.0);
  EXPECT_GT(run["read_bandwidth_bytes_per_s"], 1e8);
  EXPECT_NEAR(run["bandwidth_ratio"].get<double>(),
              run["bytes_per_token"].get<double>() * run["decode_tokens_per_s"].get<double>() /
                  run["read_bandwidth_bytes_per_s"].get<double>(),
              1e-9);
  // Both ranks: the embedding and lm_head, 16 * 8 each, attention and mlp shared, 3 norms of 8 on each.
  EXPECT_EQ(run["weight_bytes"], 4 * (64 + 64 + 256 + 144 + 2 * 24));
  EXPECT_GT(run["copy_bytes_per_s"], 0.0);
  EXPECT_GT(run["load_ratio"], 0.0);
  EXPECT_EQ(run["collective_ratio"], 0.0);  // this engine has none
  EXPECT_GT(run["flops_ratio"], 0.0);
}

TEST_F(BenchJson, OfAPrefillTheHeadCountsOnceAndAttentionWhatIsSeen) {
  run_ranks(2, [&](Communicator& communicator) {
    const RankModel model = load(communicator);
    // Half of q, k, v, o (4 * 64) and of gate, up, down (3 * 48) for each of ten positions, of the head (64) for one; one head
    // of four features for keys and values, which see five positions each on average.
    EXPECT_EQ(prefill_flops(model, 10), 2.0 * ((128 + 72) * 10 + 32) + 2.0 * 8 * 10 * 5);
    EXPECT_EQ(step_weight_bytes(model, communicator.rank()), 4 * ((communicator.rank() == 0 ? 8 : 0) + 32 + 128 + 72 + 24));
  });
}

TEST(BenchRun, SharesALongStepAmongTheBatch) {
  BenchRun run{2, 128, 64, 8};
  run.bytes_per_token = 1000;
  run.decode_tokens_per_s = 50;
  run.read_bandwidth_bytes_per_s = 100000;
  run.prefill_flops_per_s = 3;
  run.peak_flops_per_s = 4;
  run.load_s = 2;
  run.weight_bytes = 300;
  run.copy_bytes_per_s = 200;
  EXPECT_EQ(run.bandwidth_ratio(), 0.5);
  EXPECT_EQ(run.flops_ratio(), 0.75);
  EXPECT_EQ(run.load_ratio(), 0.75);
  EXPECT_EQ(BenchRun{}.bandwidth_ratio(), 0.0);
  EXPECT_EQ(bench_json(bench_runs(bench_json({run, run}))), bench_json({run, run}));
  const std::string svg = bench_svg({run, run});
  EXPECT_THAT(svg, testing::StartsWith("<svg xmlns"));
  EXPECT_THAT(svg, testing::HasSubstr("tp 2, prompt 128, new 64, batch 8"));
  EXPECT_THAT(svg, testing::HasSubstr("width=\"200.0\" height=\"14\" fill=\"#2f6f9f\""));
  EXPECT_THAT(bench_table({run}), testing::HasSubstr("  of read bandwidth, %          50\n"));
}

// The host's memory and cores are no measure of a chip.
TEST(BenchRun, OnChipsHasNoRatioToTheLimitsOfTheHost) {
  BenchRun run{.tp_size = 4, .prompt = 128, .new_tokens = 64, .decode_tokens_per_s = 20, .on_chips = true};
  const auto json = nlohmann::json::parse(bench_json({run}))["runs"][0];
  for (const char* name : {"read_bandwidth_bytes_per_s", "bandwidth_ratio", "peak_flops_per_s", "flops_ratio",
                           "collective_ratio", "wait_ratio", "collective_us_per_token"})
    EXPECT_TRUE(json[name].is_null()) << name;
  EXPECT_EQ(json["decode_tokens_per_s"], 20);
  EXPECT_EQ(bench_json(bench_runs(bench_json({run}))), bench_json({run}));
  EXPECT_THAT(bench_table({run}), testing::HasSubstr("  of read bandwidth, %           -\n"));
  EXPECT_THAT(bench_table({run}), testing::HasSubstr("decode tokens/s               20.0\n"));
}

}  // namespace
}  // namespace tp
