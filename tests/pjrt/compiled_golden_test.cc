// The compiled engine against the references, all ranks in one process: one device per rank.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "runtime/collectives_inproc.h"
#include "runtime/engine_compiled.h"
#include "runtime/generate.h"
#include "tests/runtime/golden_case.h"
#include "tests/runtime/golden_run.h"

namespace tp {
namespace {

constexpr int64_t kCacheLen = 72;
constexpr int64_t kNewTokens = 24;

class CollectingSink : public TokenSink {
 public:
  explicit CollectingSink(size_t prompts) : ids(prompts) {}
  bool token(size_t index, int32_t id) override {
    ids[index].push_back(id);
    return false;
  }
  void finished(size_t, FinishReason) override {}
  std::vector<std::vector<int32_t>> ids;
};

// Every rank's shard.
std::vector<std::unique_ptr<RankModel>> load_ranks(const GoldenCase& golden, const GoldenRun& run) {
  ModelRequest request;
  request.model_dir = golden.dir();
  request.plan.overrides = run.overrides;
  request.plan.tied = run.tied;
  request.plans_dir = kPlansDir;
  request.dtype = run.dtype;
  std::vector<std::unique_ptr<RankModel>> models(static_cast<size_t>(run.tp_size));
  run_ranks(run.tp_size, [&](Communicator& communicator) {
    models[static_cast<size_t>(communicator.rank())] = std::make_unique<RankModel>(load_rank_model(request, communicator));
  });
  return models;
}

// One way to run the case over so many ranks; where KV heads do not divide, ranks share them.
GoldenRun run_of(const GoldenCase& golden, const std::string& dtype, int tp_size) {
  return runs_of(load_model_config(golden.dir()), dtype, tp_size).back();
}

using Check = std::function<void(Engine&, Communicator&, const ModelConfig&)>;

void with_engine(const GoldenCase& golden, const GoldenRun& run, const Check& check) {
  const auto models = load_ranks(golden, run);
  const auto client = PjrtClient::create(PjrtPlugin::load(CPU_PLUGIN), {.create = {{"cpu_device_count", run.tp_size}}});
  std::vector<const RankModel*> shards;
  for (const auto& model : models) shards.push_back(model.get());
  run_ranks(1, [&](Communicator& communicator) {
    const auto engine = make_compiled_engine(shards, client, communicator, {.slots = 2, .cache_len = kCacheLen});
    check(*engine, communicator, models[0]->config);
  });
}

std::vector<std::string> prompt_names(const GoldenCase& golden) {
  std::vector<std::string> names;
  for (int i = 0; golden.has("prompt." + std::to_string(i) + ".input_ids"); ++i) names.push_back("prompt." + std::to_string(i));
  return names;
}

Batch single(const std::vector<int32_t>& ids) {
  const auto length = static_cast<int32_t>(ids.size());
  return {1, length, ids, {0}, {length}, {0}, {length}};
}

class CompiledGolden : public testing::TestWithParam<std::filesystem::path> {
 protected:
  void SetUp() override {
    if (std::string(CPU_PLUGIN).empty()) GTEST_SKIP() << "lammps-jax-pjrt-cpu is not installed in the project's venv";
    // Compiling is most of the work; the plugin reads this when it compiles for the first time.
    setenv("XLA_FLAGS", QUICK_XLA_FLAGS, /*overwrite=*/0);
  }
};

TEST_P(CompiledGolden, Float32LogitsAndTokens) {
  const GoldenCase golden(GetParam());
  for (int tp_size : {1, 2, 4}) {
    with_engine(golden, run_of(golden, "float32", tp_size), [&](Engine& engine, Communicator& communicator, const ModelConfig& config) {
      std::vector<GeneratePrompt> prompts;
      for (const std::string& name : prompt_names(golden)) {
        const std::vector<int32_t> ids = golden.ids(name + ".input_ids");
        const Logits logits = engine.forward(single(ids), LogitsWanted::kAll);
        const std::vector<float> want = golden.floats(name + ".logits");
        ASSERT_EQ(logits.data.size(), want.size());
        for (size_t i = 0; i < want.size(); ++i)
          ASSERT_NEAR(logits.data[i], want[i], 1e-4 + 1e-4 * std::abs(want[i]))
              << name << " tp_size " << tp_size << " logit " << i;
        prompts.push_back({ids, kNewTokens});
      }
      CollectingSink sink(prompts.size());
      generate(engine, communicator, config, prompts, {}, &sink);
      for (size_t i = 0; i < prompts.size(); ++i)
        EXPECT_EQ(sink.ids[i], golden.ids("prompt." + std::to_string(i) + ".generated"))
            << "prompt " << i << " tp_size " << tp_size;
    });
  }
}

TEST_P(CompiledGolden, Bfloat16Within) {
  const GoldenCase golden(GetParam());
  with_engine(golden, run_of(golden, "bfloat16", 2), [&](Engine& engine, Communicator&, const ModelConfig& config) {
    // A routing flip moves a whole row of a model with experts (tolerances of the goldens' README).
    const bool moe = config.moe.has_value();
    for (const std::string& name : prompt_names(golden)) {
      const Logits logits = engine.forward(single(golden.ids(name + ".input_ids")), LogitsWanted::kLast);
      const std::vector<float> want = golden.floats(name + ".logits_bf16_last");
      double largest = 0, sum = 0;
      for (size_t i = 0; i < want.size(); ++i) {
        const double difference = std::abs(logits.data[i] - want[i]);
        largest = std::max(largest, difference);
        sum += difference;
      }
      if (!moe) {
        EXPECT_LT(largest, 0.5) << name;
      }
      EXPECT_LT(sum / static_cast<double>(want.size()), moe ? 0.3 : 0.1) << name;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Models, CompiledGolden, testing::ValuesIn(golden_cases()),
                         [](const auto& model) { return model.param.filename().string(); });

}  // namespace
}  // namespace tp
