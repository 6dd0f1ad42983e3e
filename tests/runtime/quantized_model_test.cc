// What `--weights` does to the small model of the examples, on the text that it shows.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/collectives_inproc.h"
#include "runtime/engine_eager.h"
#include "runtime/logprobs.h"
#include "runtime/save_quantized.h"
#include "sharding/checkpoint.h"
#include "sharding/plan_report.h"
#include "sharding/quantization.h"
#include "tests/runtime/quantized_case.h"

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

// Float32 logits of every position; the quantized model is written to `save_to`, if that is given.
Logits logits_of(ModelRequest request, const std::vector<int32_t>& ids, int tp_size, const std::string& save_to = "",
                 bool int8_activations = false, bool int8_cache = false) {
  request.plans_dir = TPRUN_SOURCE_DIR "/plans";
  request.dtype = "float32";
  request.load.layout = LinearLayout::kPacked;
  Logits result;
  run_ranks(tp_size, [&](Communicator& communicator) {
    const RankModel model = load_rank_model(request, communicator);
    if (!save_to.empty()) save_quantized(model, request.model_dir, save_to, 1, communicator);
    const Batch batch = whole_prompt(ids);
    const std::unique_ptr<Engine> engine =
        make_eager_engine(model, communicator, {1, batch.width, 1, nullptr, {}, int8_activations, int8_cache});
    Logits logits = engine->forward(batch, LogitsWanted::kAll);
    if (communicator.rank() == 0) result = std::move(logits);
  });
  return result;
}

// Root of the mean square.
double difference(const Logits& a, const Logits& b) {
  double sum = 0;
  for (size_t i = 0; i < a.data.size(); ++i) sum += std::pow(a.data[i] - b.data[i], 2);
  return std::sqrt(sum / static_cast<double>(a.data.size()));
}

// Of the model of the examples.
Logits logits_with(WeightKind kind, int tp_size, const std::string& model_dir = kModel, const std::string& save_to = "",
                   bool int8_activations = false, bool int8_cache = false) {
  ModelRequest request;
  request.model_dir = model_dir;
  request.kind = kind;
  return logits_of(request, shown_ids(), tp_size, save_to, int8_activations, int8_cache);
}

std::filesystem::path new_dir(const std::string& name) {
  return std::filesystem::path(testing::TempDir()) / (name + std::to_string(getpid()));
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
      EXPECT_LT(largest_difference(cut, whole), 1e-3) << weight_kind_name(kind) << " on " << tp_size;
    }
  }
}

TEST(QuantizedModel, QuantizedActivationsHardlyChangePerplexity) {
  const double stored = mean_nll(logits_with(WeightKind::kStored, 1));
  const double int8 = mean_nll(logits_with(WeightKind::kInt8, 1, kModel, "", true));
  const double int4 = mean_nll(logits_with(WeightKind::kInt4Group32, 1, kModel, "", true));
  EXPECT_LT(std::exp(int8 - stored), 1.02) << int8 << " " << stored;
  EXPECT_LT(std::exp(int4 - stored), 1.07) << int4 << " " << stored;
  EXPECT_EQ(logits_with(WeightKind::kStored, 1, kModel, "", true).data, logits_with(WeightKind::kStored, 1).data);
}

// A row's scale is that of the whole row everywhere, so what is left are sums in another order: where one of them decides
// which way a number is rounded, an integer is the next one.
TEST(QuantizedModel, RanksHardlyChangeQuantizedActivations) {
  for (WeightKind kind : {WeightKind::kInt8, WeightKind::kInt4Group32}) {
    const Logits whole = logits_with(kind, 1, kModel, "", true);
    const double error = difference(whole, logits_with(kind, 1));
    EXPECT_GT(error, 0.01);
    for (int tp_size : {2, 4}) {
      const Logits cut = logits_with(kind, tp_size, kModel, "", true);
      EXPECT_LT(difference(cut, whole), 0.5 * error) << weight_kind_name(kind) << " on " << tp_size;
    }
  }
}

TEST(QuantizedModel, AQuantizedCacheHardlyChangesPerplexityAndIsTheSameOnAnyRanks) {
  const Logits stored = logits_with(WeightKind::kStored, 1),
               int8 = logits_with(WeightKind::kStored, 1, kModel, "", false, true);
  const double change = mean_nll(int8) - mean_nll(stored), error = difference(int8, stored);
  EXPECT_LT(std::exp(change), 1.01);
  EXPECT_GT(error, 0.0);
  for (int tp_size : {2, 4})
    EXPECT_LT(difference(logits_with(WeightKind::kStored, tp_size, kModel, "", false, true), int8), 0.5 * error) << tp_size;
}

TEST(QuantizedModel, APrefixOfAQuantizedCacheIsCopiedWithItsScales) {
  ModelRequest request;
  request.model_dir = kModel;
  request.plans_dir = TPRUN_SOURCE_DIR "/plans";
  request.load.layout = LinearLayout::kPacked;
  run_ranks(2, [&](Communicator& communicator) {
    const RankModel model = load_rank_model(request, communicator);
    const std::unique_ptr<Engine> engine = make_eager_engine(model, communicator, {2, 64, 1, nullptr, {}, false, true});
    engine->forward(whole_prompt({5, 6, 7, 8, 9}), LogitsWanted::kLast);
    engine->copy_prefix(0, 1, 5);
    const Logits next = engine->forward({2, 1, {4, 4}, {5, 5}, {1, 1}, {0, 1}, {6, 6}}, LogitsWanted::kLast);
    for (int64_t i = 0; i < next.vocab; ++i) ASSERT_EQ(next.at(1, 0)[i], next.at(0, 0)[i]);
    EXPECT_EQ(engine->cache_bytes(),
              2 * 64 * plan_report(model.plan, model.config, DType::kF32, true, true).cache_bytes_per_token);
  });
}

TEST(QuantizedModel, SavedItLoadsWithEqualNumbers) {
  for (WeightKind kind : {WeightKind::kInt8, WeightKind::kInt4Group32}) {
    const std::filesystem::path dir = new_dir("saved_" + std::string(weight_kind_name(kind)));
    const Logits made = logits_with(kind, 2, kModel, dir.string());
    const Logits loaded = logits_with(WeightKind::kStored, 2, dir.string());
    EXPECT_EQ(loaded.data, made.data) << weight_kind_name(kind);
    EXPECT_TRUE(std::filesystem::exists(dir / "model-00002-of-00002.safetensors"));
    EXPECT_TRUE(std::filesystem::exists(dir / "tokenizer.json"));
    std::filesystem::remove_all(dir);
  }
}

// A checkpoint that has the experts of a layer in one tensor, which become matrices with formats of their own; the 20 inputs of
// output_linear are no whole words.
TEST(QuantizedModel, SavedStackedExpertsLoadWithEqualNumbers) {
  const std::filesystem::path dir = new_dir("experts_"), plan = new_dir("plan_") += ".yaml";
  std::ofstream(plan) << "version: 1\nweights:\n  layers.*.block_sparse_moe.experts.gate_up_proj: int4\n"
                         "  layers.*.self_attn.q_proj: int8\n  layers.*.self_attn.k_proj: int8\n  lm_head: int8\n";
  ModelRequest request;
  request.model_dir = TPRUN_SOURCE_DIR "/tests/golden/models/tiny_granitemoe";
  const std::vector<int32_t> ids = {1, 17, 5, 42, 8, 30};
  const Logits stored = logits_of(request, ids, 1);
  request.plan.plan = plan.string();
  const Logits made = logits_of(request, ids, 2, dir.string());
  request.plan.plan.clear();
  request.model_dir = dir.string();
  EXPECT_NE(made.data, stored.data);
  EXPECT_EQ(logits_of(request, ids, 2).data, made.data);
  const Checkpoint checkpoint = open_checkpoint(dir);
  const StoredTensor* up = checkpoint.find("model.layers.1.block_sparse_moe.experts.3.up_proj.weight");
  ASSERT_NE(up, nullptr);
  EXPECT_EQ(up->entry.shape, (std::vector<int64_t>{20, 32}));
  EXPECT_EQ(kept_kind(*up->quantized), WeightKind::kInt4Group32);
  EXPECT_NE(checkpoint.find("model.layers.1.block_sparse_moe.output_linear.weight"), nullptr);
  std::filesystem::remove_all(dir);
  std::filesystem::remove(plan);
}

TEST(QuantizedModel, TakesTheMemoryThatPlanShowSays) {
  for (WeightKind kind : {WeightKind::kStored, WeightKind::kInt8, WeightKind::kInt4Group32, WeightKind::kInt4Group128}) {
    for (int tp_size : {1, 2}) {
      if (kind == WeightKind::kInt4Group128 && tp_size == 2) continue;  // 192 inputs of down_proj on each are no groups
      run_ranks(tp_size, [&](Communicator& communicator) {
        ModelRequest request;
        request.model_dir = kModel;
        request.plans_dir = TPRUN_SOURCE_DIR "/plans";
        request.kind = kind;
        request.load.layout = LinearLayout::kPacked;
        const RankModel model = load_rank_model(request, communicator);
        const int64_t shown = plan_report(model.plan, model.config, model.weights.dtype(), true).bytes_per_chip;
        EXPECT_EQ(model.weights.total_bytes(), shown) << weight_kind_name(kind) << " on " << tp_size;
      });
    }
  }
}

}  // namespace
}  // namespace tp
