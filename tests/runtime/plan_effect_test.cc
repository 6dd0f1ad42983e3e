#include <gtest/gtest.h>

#include "runtime/collectives_inproc.h"
#include "runtime/engine_eager.h"
#include "sharding/error.h"

namespace tp {
namespace {

struct Counts {
  int64_t all_reduce = 0, all_gather = 0;
  bool operator==(const Counts&) const = default;
};

// Collectives of one decode step of a model with two layers on two ranks.
Counts counts_with(const std::vector<std::string>& overrides) {
  Counts result;
  run_ranks(2, [&](Communicator& communicator) {
    ModelRequest request;
    request.model_dir = TPRUN_SOURCE_DIR "/tests/golden/models/tiny_qwen3_vocab101";
    request.plan.overrides = overrides;
    request.plans_dir = TPRUN_SOURCE_DIR "/plans";
    request.load.layout = LinearLayout::kPacked;
    const RankModel model = load_rank_model(request, communicator);
    const std::unique_ptr<Engine> engine = make_eager_engine(model, communicator, {1, 16});
    communicator.reset_counts();
    engine->forward({1, 1, {5}, {0}, {1}, {0}, {1}}, LogitsWanted::kLast);
    const auto& counts = communicator.counts();
    if (communicator.rank() == 0) result = {counts.at("all_reduce").count, counts.at("all_gather").count};
  });
  return result;
}

TEST(PlanEffect, TheDefaultPlanReducesTheEmbeddingAndTwicePerLayer) {
  EXPECT_EQ(counts_with({}), (Counts{5, 1}));
}

TEST(PlanEffect, AReplicatedMlpNeedsOneReductionLessPerLayer) {
  const std::vector<std::string> overrides = {"layers.*.mlp.gate_proj=replicated", "layers.*.mlp.up_proj=replicated",
                                              "layers.*.mlp.down_proj=replicated"};
  EXPECT_EQ(counts_with(overrides), (Counts{3, 1}));
}

TEST(PlanEffect, AnIdBeyondTheVocabularyIsRefused) {
  run_ranks(1, [](Communicator& communicator) {
    ModelRequest request;
    request.model_dir = TPRUN_SOURCE_DIR "/tests/golden/models/tiny_qwen3_vocab101";
    request.plans_dir = TPRUN_SOURCE_DIR "/plans";
    request.load.layout = LinearLayout::kPacked;
    const RankModel model = load_rank_model(request, communicator);
    const std::unique_ptr<Engine> engine = make_eager_engine(model, communicator, {1, 16});
    try {
      engine->forward({1, 1, {101}, {0}, {1}, {0}, {1}}, LogitsWanted::kLast);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.text(), "token id 101 is beyond the vocabulary of 101");
    }
  });
}

}  // namespace
}  // namespace tp
