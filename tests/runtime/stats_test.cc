// The fields of `--stats`.
#include "runtime/stats.h"

#include <gmock/gmock.h>

#include "runtime/collectives_inproc.h"
#include "tests/runtime/model_report.h"
#include "tests/runtime/scripted_engine.h"

namespace tp {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;

using StatsFile = ModelReport;

TEST_F(StatsFile, HaveAllRanksAndSpeeds) {
  const std::string path = (dir_ / "stats.json").string();
  run_ranks(2, [&](Communicator& communicator) {
    const RankModel model = load(communicator);
    ScriptedEngine engine(1, 64, 8);
    float value = 1;
    communicator.all_reduce_sum(&value, 1);
    write_stats(path, "cpu", model, engine, {.prefill_tokens = 10, .decode_tokens = 6, .prefill_s = 2, .decode_s = 4},
                communicator);
  });
  std::ifstream file(path);
  const Json stats = Json::parse(file);
  EXPECT_THAT(keys(stats), ElementsAre("decode_tokens_per_s", "device", "load_s", "prefill_tokens_per_s", "ranks", "tp_size"));
  EXPECT_EQ(stats["tp_size"], 2);
  EXPECT_EQ(stats["device"], "cpu");
  EXPECT_EQ(stats["prefill_tokens_per_s"], 5.0);
  EXPECT_EQ(stats["decode_tokens_per_s"], 1.5);
  EXPECT_GT(stats["load_s"], 0.0);
  ASSERT_EQ(stats["ranks"].size(), 2u);
  for (int rank : {0, 1}) {
    Json entry = stats["ranks"][static_cast<size_t>(rank)];
    EXPECT_GT(entry["anonymous_bytes"], 0);
    entry.erase("anonymous_bytes");
    // Weights: half of 2 * 64 + 4 * 64 + 3 * 48 and 3 * 8, in float32.
    const Json want{
        {"rank", rank},
        {"weights_bytes", 4 * 288},
        {"cache_bytes", 512},
        {"programs_compiled", 3},
        {"cache_hits", 1},
        {"collectives", {{"all_reduce", {{"count", 1}, {"bytes", 4}}}, {"all_gather", {{"count", 0}, {"bytes", 0}}}}}};
    EXPECT_EQ(entry, want);
  }
}

}  // namespace
}  // namespace tp
