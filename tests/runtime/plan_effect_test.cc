#include <gmock/gmock.h>
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

ModelRequest request_of(const std::string& model, const std::vector<std::string>& overrides = {}) {
  ModelRequest request;
  request.model_dir = TPRUN_SOURCE_DIR "/tests/golden/models/" + model;
  request.plan.overrides = overrides;
  request.plans_dir = TPRUN_SOURCE_DIR "/plans";
  request.load.layout = LinearLayout::kPacked;
  return request;
}

// Collectives of one decode step of a model with two layers on two ranks.
Counts counts_with(const std::vector<std::string>& overrides) {
  Counts result;
  run_ranks(2, [&](Communicator& communicator) {
    const RankModel model = load_rank_model(request_of("tiny_qwen3_vocab101", overrides), communicator);
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

// Rank 0's logits of one token.
std::vector<float> logits_of(const std::string& name, int tp_size, const std::vector<std::string>& overrides = {}) {
  std::vector<float> result;
  run_ranks(tp_size, [&](Communicator& communicator) {
    const RankModel model = load_rank_model(request_of(name, overrides), communicator);
    const std::unique_ptr<Engine> engine = make_eager_engine(model, communicator, {1, 16});
    const Logits logits = engine->forward({1, 1, {5}, {0}, {1}, {0}, {1}}, LogitsWanted::kLast);
    if (communicator.rank() == 0) result = logits.data;
  });
  return result;
}

// o_proj and down_proj of this model have biases.
TEST(PlanEffect, ARowwiseBiasIsAddedOnce) {
  EXPECT_THAT(logits_of("tiny_llama_linear", 2),
              testing::Pointwise(testing::FloatNear(1e-4f), logits_of("tiny_llama_linear", 1)));
}

TEST(PlanEffect, ExpertsWithBiasesMayBeDealtOut) {
  std::vector<std::string> dealt_out = {"layers.*.mlp.experts=ep_dispatch_experts"};
  for (const char* weight : {"gate_up_proj", "gate_up_proj_bias", "down_proj", "down_proj_bias"})
    dealt_out.push_back("layers.*.mlp.experts." + std::string(weight) + "=grouped_gemm");
  const std::vector<float> alone = logits_of("tiny_gpt_oss", 1);
  for (int tp_size : {2, 3, 4}) {  // four experts; of three ranks the last has none
    EXPECT_THAT(logits_of("tiny_gpt_oss", tp_size, dealt_out), testing::Pointwise(testing::FloatNear(1e-4f), alone));
  }
}

int64_t cache_bytes(int tp_size, const std::vector<std::string>& overrides = {}) {
  int64_t result = 0;
  run_ranks(tp_size, [&](Communicator& communicator) {
    const RankModel model = load_rank_model(request_of("tiny_llama_linear", overrides), communicator);
    const std::unique_ptr<Engine> engine = make_eager_engine(model, communicator, {1, 16});
    if (communicator.rank() == 0) result = engine->cache_bytes();
  });
  return result;
}

TEST(PlanEffect, TheCacheHoldsTheHeadsOfItsRank) {
  // Two layers, k and v, 16 positions, 2 KV heads of 8 features, float32.
  EXPECT_EQ(cache_bytes(1), 2 * 2 * 16 * 2 * 8 * 4);
  EXPECT_EQ(cache_bytes(2), cache_bytes(1) / 2);
  EXPECT_EQ(cache_bytes(4, {"layers.*.self_attn.k_proj=kv_replicated", "layers.*.self_attn.v_proj=kv_replicated"}),
            cache_bytes(1) / 2);
}

TEST(PlanEffect, AnIdBeyondTheVocabularyIsRefused) {
  run_ranks(1, [](Communicator& communicator) {
    const RankModel model = load_rank_model(request_of("tiny_qwen3_vocab101"), communicator);
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
