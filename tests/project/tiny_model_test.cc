// The embedded model keeps its promise: what the examples show is the same on 1, 2 and 4 ranks, by a wide margin.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/collectives_inproc.h"
#include "runtime/engine_eager.h"
#include "runtime/rank_model.h"

namespace tp {
namespace {

constexpr double kSmallestMargin = 0.5;
const std::string kModel = TPRUN_SOURCE_DIR "/examples/tiny";

struct Shown {
  std::vector<int32_t> prompt, continuation;
};

std::vector<Shown> shown_texts() {
  std::ifstream file(kModel + "/golden.json");
  const auto golden = nlohmann::json::parse(file);
  std::vector<Shown> shown;
  for (const auto& entry : golden.at("cases")) {
    shown.push_back({entry.at("ids").get<std::vector<int32_t>>(), entry.at("new_ids").get<std::vector<int32_t>>()});
  }
  return shown;
}

// Logits of every position of `ids` in bfloat16, from rank 0 of `world_size`.
Logits logits_of(const std::vector<int32_t>& ids, int world_size) {
  Logits result;
  run_ranks(world_size, [&](Communicator& communicator) {
    ModelRequest request;
    request.model_dir = kModel;
    request.plans_dir = TPRUN_SOURCE_DIR "/plans";
    request.dtype = "bfloat16";
    request.load.layout = LinearLayout::kPacked;
    const RankModel model = load_rank_model(request, communicator);
    const auto width = static_cast<int32_t>(ids.size());
    const auto engine = make_eager_engine(model, communicator, {1, width});
    Logits logits =
        engine->forward({.rows = 1, .width = width, .ids = ids, .start = {0}, .length = {width}, .slot = {0}, .total = {width}},
                        LogitsWanted::kAll);
    if (communicator.rank() == 0) result = std::move(logits);
  });
  return result;
}

// The largest logit less the second; negative if `wanted` is not the largest.
double margin_of(const float* logits, int64_t vocab, int32_t wanted) {
  float best_other = -std::numeric_limits<float>::infinity();
  for (int64_t id = 0; id < vocab; ++id) {
    if (id != wanted) best_other = std::max(best_other, logits[id]);
  }
  return logits[wanted] - best_other;
}

class TinyModel : public testing::TestWithParam<int> {};

TEST_P(TinyModel, KeepsEveryShownTokenByAWideMargin) {
  const std::vector<Shown> texts = shown_texts();
  ASSERT_GE(texts.size(), 5u);
  for (const Shown& shown : texts) {
    std::vector<int32_t> ids = shown.prompt;
    ids.insert(ids.end(), shown.continuation.begin(), shown.continuation.end());
    const Logits logits = logits_of(ids, GetParam());
    for (size_t i = shown.prompt.size(); i < ids.size(); ++i) {
      EXPECT_GT(margin_of(logits.at(0, static_cast<int64_t>(i) - 1), logits.vocab, ids[i]), kSmallestMargin)
          << "token " << i << " of a text that begins with token " << ids[0];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, TinyModel, testing::Values(1, 2, 4));

}  // namespace
}  // namespace tp
