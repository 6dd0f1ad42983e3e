// For random small models and random plans on 1 to 8 ranks: either the plan check refuses, or the logits are those of one rank.
// One case per seed; a failure prints the model, the plan and the number of ranks. One seed again:
//   plan_property_test --gtest_filter='*/SEED'
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "runtime/collectives_inproc.h"
#include "runtime/engine_eager.h"
#include "sharding/error.h"
#include "sharding/plan_check.h"
#include "tests/runtime/random_model.h"
#include "tests/runtime/random_plan.h"

namespace tp {
namespace {

constexpr int kSeeds = 180;
constexpr int kPlansPerSeed = 14;
static_assert(kSeeds * kPlansPerSeed >= 2000);
constexpr const char* kPlansDir = TPRUN_SOURCE_DIR "/plans";

// A prompt of 5 tokens beside one of 3, then one more token for each, on rank `communicator.rank()` of the model.
std::vector<float> logits_of(const RankModel& model, Communicator& communicator) {
  const std::unique_ptr<Engine> engine = make_eager_engine(model, communicator, {.slots = 2, .cache_len = 8});
  const auto id = [&](int i) { return static_cast<int32_t>(i * 7 % model.config.vocab_size); };
  const Batch prompt{2, 5, {id(1), id(2), id(3), id(4), id(5), id(6), id(7), id(8), 0, 0}, {0, 0}, {5, 3}, {0, 1}, {5, 3}};
  const Batch step{2, 1, {id(9), id(10)}, {5, 3}, {1, 1}, {0, 1}, {6, 4}};
  std::vector<float> values;
  const auto append = [&](const Logits& logits, int64_t row, int64_t positions) {
    values.insert(values.end(), logits.at(row, 0), logits.at(row, 0) + positions * logits.vocab);
  };
  const Logits first = engine->forward(prompt, LogitsWanted::kAll);
  append(first, 0, 5);
  append(first, 1, 3);
  const Logits second = engine->forward(step, LogitsWanted::kLast);
  append(second, 0, 1);
  append(second, 1, 1);
  return values;
}

RankModel rank_model(const ResolvedPlan& plan, const ModelConfig& config, const Checkpoint& checkpoint, int rank) {
  ParameterTable table(plan, config, rank);
  LoadOptions options;
  options.layout = LinearLayout::kPacked;
  Weights weights = Weights::load(table, checkpoint, DType::kF32, options);
  return {config, plan, std::move(table), std::move(weights)};
}

// The first difference of any rank's logits from `want`, or "".
std::string difference(const ResolvedPlan& plan, const ModelConfig& config, const Checkpoint& checkpoint,
                       const std::vector<float>& want) {
  std::string text;
  std::mutex mutex;
  run_ranks(plan.tp_size, [&](Communicator& communicator) {
    const std::vector<float> got = logits_of(rank_model(plan, config, checkpoint, communicator.rank()), communicator);
    const std::lock_guard lock(mutex);
    for (size_t i = 0; i < want.size() && text.empty(); ++i) {
      if (std::abs(got[i] - want[i]) <= 5e-4f * std::max(1.0f, std::abs(want[i]))) continue;
      text = "rank " + std::to_string(communicator.rank()) + ", logit " + std::to_string(i) + " is " + std::to_string(got[i]) +
             ", not " + std::to_string(want[i]);
    }
  });
  return text;
}

class PlanProperty : public testing::TestWithParam<int> {
 protected:
  PlanProperty()
      : random_(static_cast<uint64_t>(GetParam())),
        dir_(std::filesystem::path(testing::TempDir()) / ("plan_property." + std::to_string(getpid()))) {
    std::filesystem::create_directories(dir_);
  }
  ~PlanProperty() override {
    std::error_code code;
    std::filesystem::remove_all(dir_, code);
  }
  static void SetUpTestSuite() { combinations_ = equal_ = with_rules_ = 0; }
  static void TearDownTestSuite() {
    std::printf(
        "%d combinations: %d gave the logits of one rank (%d under rules that a plan laid over the default), %d were refused\n",
        combinations_, equal_, with_rules_, combinations_ - equal_);
    // A check that refuses all would hold the property too.
    if (combinations_ == kSeeds * kPlansPerSeed) {
      EXPECT_GE(equal_, combinations_ / 3);
      EXPECT_GE(with_rules_, combinations_ / 5);
    }
  }

  void write(const std::string& name, const std::string& text) const { std::ofstream(dir_ / name, std::ios::binary) << text; }

  // A model whose sizes fit each other.
  ModelConfig make_model() {
    const std::vector<Family>& all = families();
    const Family& family = all[static_cast<size_t>(GetParam()) % all.size()];
    std::string refusal;
    for (int attempt = 0; attempt < 50; ++attempt) {
      config_text_ = random_config(family, random_);
      try {
        ModelConfig config = parse_model_config(config_text_, "config.json");
        write_random_weights(config, dir_, random_);
        return config;
      } catch (const Error& error) {
        refusal = error.text();
      }
    }
    throw Error(std::string(family.model_type), "no random configuration is accepted: " + refusal);
  }

  // Whether the plan of `plan_text` was accepted; fails the test when it was and the logits differ.
  bool try_plan(const ModelConfig& config, const Checkpoint& checkpoint, bool head_stored, int tp_size,
                const std::vector<float>& want) {
    ResolvedPlan plan;
    try {
      plan = resolve_plan(load_plan({.plan = (dir_ / "plan.yaml").string()}, config, kPlansDir), config, tp_size);
    } catch (const Error&) {
      return false;
    }
    if (!check_plan(plan, config, head_stored).empty()) return false;
    std::string wrong;
    try {
      wrong = difference(plan, config, checkpoint, want);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    EXPECT_EQ(wrong, "");
    return true;
  }

  RandomSource random_;
  const std::filesystem::path dir_;
  std::string config_text_;
  static int combinations_, equal_, with_rules_;
};

int PlanProperty::combinations_ = 0;
int PlanProperty::equal_ = 0;
int PlanProperty::with_rules_ = 0;

TEST_P(PlanProperty, RefusesOrGivesTheLogitsOfOneRank) {
  const ModelConfig config = make_model();
  const Checkpoint checkpoint = open_checkpoint(dir_);
  const std::vector<ModuleSpec> modules = module_tree(config);
  require_tensors(checkpoint, modules, config);
  const bool head_stored = has_lm_head(checkpoint, modules);
  std::vector<float> want;
  run_ranks(1, [&](Communicator& communicator) {
    const ResolvedPlan plan = resolve_plan(load_plan({}, config, kPlansDir), config, 1);
    want = logits_of(rank_model(plan, config, checkpoint, 0), communicator);
  });
  for (const float logit : want) ASSERT_TRUE(std::isfinite(logit)) << config_text_;
  for (int i = 0; i < kPlansPerSeed; ++i) {
    const std::string plan_text = random_plan(modules, random_);
    const int tp_size = 1 + static_cast<int>(random_.below(8));
    write("plan.yaml", plan_text);
    SCOPED_TRACE("seed " + std::to_string(GetParam()) + ", " + std::to_string(tp_size) + " ranks, " +
                 (head_stored ? "with" : "without") + " a head of its own\n" + config_text_ + "\n" + plan_text);
    ++combinations_;
    const bool equal = try_plan(config, checkpoint, head_stored, tp_size, want);
    equal_ += equal;
    with_rules_ += equal && tp_size > 1 && plan_text.find("tp_plan:") != std::string::npos;
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlanProperty, testing::Range(1, kSeeds + 1),
                         [](const auto& one) { return std::to_string(one.param); });

}  // namespace
}  // namespace tp
