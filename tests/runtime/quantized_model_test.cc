// What `--weights` does to the small model of the examples, on the text that it shows.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/collectives_inproc.h"
#include "runtime/engine_eager.h"
#include "runtime/logprobs.h"

namespace tp {
namespace {

const std::string kModel = std::string(TPRUN_SOURCE_DIR) + "/examples/tiny";

// The first shown text, prompt and continuation.
std::vector<int32_t> shown_ids() {
  std::ifstream file(kModel + "/golden.json");
  const auto shown = nlohmann::json::parse(file).at("cases")[0];
  auto ids = shown.at("ids").get<std::vector<int32_t>>();
  for (const int32_t id : shown.at("new_ids").get<std::vector<int32_t>>()) ids.push_back(id);
  return ids;
}

// Float32 logits of every position.
Logits logits_with(WeightKind kind, int tp_size) {
  Logits result;
  run_ranks(tp_size, [&](Communicator& communicator) {
    ModelRequest request;
    request.model_dir = kModel;
    request.plans_dir = TPRUN_SOURCE_DIR "/plans";
    request.dtype = "float32";
    request.load.layout = LinearLayout::kPacked;
    request.load.kind = kind;
    const RankModel model = load_rank_model(request, communicator);
    const std::vector<int32_t> ids = shown_ids();
    const auto length = static_cast<int32_t>(ids.size());
    const std::unique_ptr<Engine> engine = make_eager_engine(model, communicator, {1, length});
    Logits logits = engine->forward({1, length, ids, {0}, {length}, {0}, {length}}, LogitsWanted::kAll);
    if (communicator.rank() == 0) result = std::move(logits);
  });
  return result;
}

double mean_nll(const Logits& logits) {
  const std::vector<int32_t> ids = shown_ids();
  double sum = 0;
  for (size_t i = 0; i + 1 < ids.size(); ++i)
    sum += negative_log_likelihood(logits.at(0, static_cast<int64_t>(i)), logits.vocab, ids[i + 1]);
  return sum / static_cast<double>(ids.size() - 1);
}

TEST(QuantizedModel, PerplexityHardlyChanges) {
  const double stored = mean_nll(logits_with(WeightKind::kStored, 1));
  const double int8 = mean_nll(logits_with(WeightKind::kInt8, 1)), int4 = mean_nll(logits_with(WeightKind::kInt4Group32, 1));
  EXPECT_NE(int8, stored);
  EXPECT_LT(std::exp(int8 - stored), 1.01) << int8 << " " << stored;
  EXPECT_LT(std::exp(int4 - stored), 1.06) << int4 << " " << stored;
}

TEST(QuantizedModel, RanksChangeNothing) {
  for (WeightKind kind : {WeightKind::kInt8, WeightKind::kInt4Group32}) {
    const Logits whole = logits_with(kind, 1);
    for (int tp_size : {2, 4}) {
      const Logits cut = logits_with(kind, tp_size);
      ASSERT_EQ(cut.data.size(), whole.data.size());
      double largest = 0;
      for (size_t i = 0; i < whole.data.size(); ++i)
        largest = std::max(largest, static_cast<double>(std::abs(cut.data[i] - whole.data[i])));
      EXPECT_LT(largest, 1e-3) << weight_kind_name(kind) << " on " << tp_size;
    }
  }
}

}  // namespace
}  // namespace tp
