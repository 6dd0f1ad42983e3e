// The fields of `--stats`.
#include "runtime/stats.h"

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

class StatsFile : public WrittenFiles {
 protected:
  StatsFile() {
    MadeCheckpoint{.value = [](int64_t, int64_t) { return 0.0f; }}.write(dir_);
  }

  RankModel load(Communicator& communicator) const {
    ModelRequest request;
    request.model_dir = dir_;
    request.plans_dir = TPRUN_SOURCE_DIR "/plans";
    return load_rank_model(request, communicator);
  }
};

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
