// The fields of `bench --json`. It measures memory bandwidth for a second or two, so it is no unit test.
#include "runtime/bench.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/collectives_inproc.h"
#include "tests/runtime/made_checkpoint.h"
#include "tests/runtime/scripted_engine.h"
#include "tests/sharding/written_files.h"

namespace tp {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;  // sorted
}

class BenchJson : public WrittenFiles {
 protected:
  BenchJson() {
    MadeCheckpoint{.value = [](int64_t, int64_t) { return 0.0f; }}.write(dir_);
  }

  RankModel load(Communicator& communicator) const {
    ModelRequest request;
    request.model_dir = dir_;
    request.plans_dir = TPRUN_SOURCE_DIR "/plans";
    return load_rank_model(request, communicator);
  }
};

TEST_F(BenchJson, CountsTheBytesOfAStep) {
  Job job;
  job.command = "bench";
  job.bench_prompt = 20;
  job.bench_new = 8;
  job.bench_json = true;
  testing::internal::CaptureStdout();
  run_ranks(2, [&](Communicator& communicator) {
    const RankModel model = load(communicator);
    ScriptedEngine engine(1, 64, 8);
    const std::atomic<int> none{0};
    run_bench(job, model, engine, communicator, none);
  });
  const Json report = Json::parse(testing::internal::GetCapturedStdout());
  EXPECT_THAT(keys(report), ElementsAre("runs"));
  ASSERT_EQ(report["runs"].size(), 1u);
  const Json run = report["runs"][0];
  EXPECT_THAT(keys(run), ElementsAre("anonymous_bytes", "bandwidth_ratio", "batch", "bytes_per_token", "collective_ratio",
                                     "decode_tokens_per_s", "load_s", "new", "prefill_tokens_per_s", "prompt",
                                     "read_bandwidth_bytes_per_s", "tp_size"));
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
  EXPECT_EQ(run["collective_ratio"], 0.0);  // this engine has none
}

}  // namespace
}  // namespace tp
