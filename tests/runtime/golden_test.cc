#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "runtime/collectives_inproc.h"
#include "runtime/engine_eager.h"
#include "runtime/generate.h"
#include "sharding/error.h"
#include "tests/runtime/golden_case.h"
#include "tests/runtime/golden_run.h"

namespace tp {
namespace {

constexpr int64_t kCacheLen = 96;
constexpr int kNewTokens = 24;

// gtest's own macros are not for other threads; ranks collect what is wrong here.
class Failures {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (count_++ < 5) text_ += "  " + text + "\n";
  }
  std::string text() const { return text_; }

 private:
  std::mutex mutex_;
  int count_ = 0;
  std::string text_;
};

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

Batch single(const std::vector<int32_t>& ids) {
  const auto length = static_cast<int32_t>(ids.size());
  return {1, length, ids, {0}, {length}, {0}, {length}};
}

void compare(const float* got, const float* want, int64_t count, float tolerance, const std::string& what, Failures& failures) {
  for (int64_t i = 0; i < count; ++i) {
    if (std::abs(got[i] - want[i]) <= tolerance + tolerance * std::abs(want[i])) continue;
    failures.add(what + ": logit " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " + std::to_string(want[i]));
    return;
  }
}

// Tokens must be the reference's up to the first step whose margin is too small to tell.
void compare_tokens(const std::vector<int32_t>& got, const std::vector<int32_t>& want, const std::vector<float>& margin,
                    size_t offset, float least_margin, const std::string& what, Failures& failures) {
  for (size_t step = 0; step < kNewTokens; ++step) {
    if (margin[offset + step] < least_margin) return;
    if (step < got.size() && got[step] == want[offset + step]) continue;
    failures.add(what + ": token " + std::to_string(step) + " differs");
    return;
  }
}

RankModel load(const GoldenCase& golden, const GoldenRun& run, Communicator& communicator) {
  ModelRequest request;
  request.model_dir = golden.dir();
  request.plan.overrides = run.overrides;
  request.plan.tied = run.tied;
  request.plans_dir = kPlansDir;
  request.dtype = run.dtype;
  request.load.layout = LinearLayout::kPacked;
  return load_rank_model(request, communicator);
}

// Every rank's logits of every position of every prompt, and of the rows of a batch of different lengths.
void check_float32_logits(const GoldenCase& golden, Engine& engine, const std::string& who, Failures& failures) {
  for (int i = 0; golden.has("prompt." + std::to_string(i) + ".input_ids"); ++i) {
    const std::string prompt = "prompt." + std::to_string(i);
    const Logits logits = engine.forward(single(golden.ids(prompt + ".input_ids")), LogitsWanted::kAll);
    const std::vector<float> want = golden.floats(prompt + ".logits");
    compare(logits.data.data(), want.data(), static_cast<int64_t>(want.size()), 1e-4f, who + prompt, failures);
  }
}

std::vector<GeneratePrompt> prompts_of(const GoldenCase& golden) {
  std::vector<GeneratePrompt> prompts;
  for (int i = 0; golden.has("prompt." + std::to_string(i) + ".input_ids"); ++i)
    prompts.push_back({golden.ids("prompt." + std::to_string(i) + ".input_ids"), kNewTokens});
  return prompts;
}

std::vector<GeneratePrompt> batch_rows(const GoldenCase& golden) {
  const std::vector<int32_t> ids = golden.ids("batch.input_ids"), mask = golden.ids("batch.attention_mask");
  const auto width = static_cast<size_t>(golden.shape("batch.input_ids")[1]);
  std::vector<GeneratePrompt> rows(ids.size() / width);
  for (size_t i = 0; i < ids.size(); ++i)
    if (mask[i] != 0) rows[i / width].ids.push_back(ids[i]);
  for (GeneratePrompt& row : rows) row.max_new_tokens = kNewTokens;
  return rows;
}

void check_tokens(const GoldenCase& golden, Engine& engine, Communicator& communicator, const ModelConfig& config,
                  float least_margin, const std::string& who, Failures& failures) {
  const std::vector<GeneratePrompt> prompts = prompts_of(golden), rows = batch_rows(golden);
  CollectingSink single_sink(prompts.size()), row_sink(rows.size());
  generate(engine, communicator, config, prompts, {}, &single_sink);
  generate(engine, communicator, config, rows, {}, &row_sink);
  if (communicator.rank() != 0) return;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::string prompt = "prompt." + std::to_string(i);
    compare_tokens(single_sink.ids[i], golden.ids(prompt + ".generated"), golden.floats(prompt + ".margin"), 0, least_margin,
                   who + prompt, failures);
  }
  for (size_t row = 0; row < rows.size(); ++row)
    compare_tokens(row_sink.ids[row], golden.ids("batch.generated"), golden.floats("batch.margin"), row * kNewTokens,
                   least_margin, who + "batch row " + std::to_string(row), failures);
}

std::string run_float32(const GoldenCase& golden, const GoldenRun& run) {
  Failures failures;
  run_ranks(run.tp_size, [&](Communicator& communicator) {
    const std::string who = "rank " + std::to_string(communicator.rank()) + ", ";
    const RankModel model = load(golden, run, communicator);
    const std::unique_ptr<Engine> engine = make_eager_engine(model, communicator, {2, kCacheLen});
    check_float32_logits(golden, *engine, who, failures);
    check_tokens(golden, *engine, communicator, model.config, 2e-4f, who, failures);
  });
  return failures.text();
}

void compare_bfloat16(const float* got, const std::vector<float>& want, bool moe, const std::string& what, Failures& failures) {
  double largest = 0, sum = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double difference = std::abs(got[i] - want[i]);
    largest = std::max(largest, difference);
    sum += difference;
  }
  const double mean = sum / static_cast<double>(want.size());
  if ((!moe && largest > 0.5) || mean > (moe ? 0.3 : 0.1))
    failures.add(what + ": largest difference " + std::to_string(largest) + ", mean " + std::to_string(mean));
}

std::string run_bfloat16(const GoldenCase& golden, const GoldenRun& run) {
  Failures failures;
  run_ranks(run.tp_size, [&](Communicator& communicator) {
    const std::string who = "rank " + std::to_string(communicator.rank()) + ", ";
    const RankModel model = load(golden, run, communicator);
    const bool moe = model.config.moe.has_value();
    const std::unique_ptr<Engine> engine = make_eager_engine(model, communicator, {2, kCacheLen});
    for (int i = 0; golden.has("prompt." + std::to_string(i) + ".input_ids"); ++i) {
      const std::string prompt = "prompt." + std::to_string(i);
      const Logits logits = engine->forward(single(golden.ids(prompt + ".input_ids")), LogitsWanted::kLast);
      compare_bfloat16(logits.data.data(), golden.floats(prompt + ".logits_bf16_last"), moe, who + prompt, failures);
    }
    if (!moe) check_tokens(golden, *engine, communicator, model.config, 0.5f, who, failures);
  });
  return failures.text();
}

class Goldens : public testing::TestWithParam<std::filesystem::path> {
 protected:
  void expect_all(const std::string& dtype, std::string (*run_case)(const GoldenCase&, const GoldenRun&)) {
    const GoldenCase golden(GetParam());
    const ModelConfig config = load_model_config(golden.dir());
    for (int tp_size : {1, 2, 4, 8}) {
      // Eight ranks share few cores here: only the cases that eight divides.
      if (config.num_heads % tp_size != 0 || (tp_size == 8 && config.num_kv_heads != 8)) continue;
      for (const GoldenRun& run : runs_of(config, dtype, tp_size)) {
        SCOPED_TRACE("tp_size " + std::to_string(tp_size) + (run.overrides.empty() ? "" : ", " + run.overrides.back()));
        try {
          EXPECT_EQ(run_case(golden, run), "");
        } catch (const Error& error) {
          ADD_FAILURE() << error.text();
        }
      }
    }
  }
};

TEST_P(Goldens, Float32LogitsAndTokensOnEveryRank) {
  expect_all("float32", run_float32);
}

TEST_P(Goldens, Bfloat16WithinTolerance) {
  expect_all("bfloat16", run_bfloat16);
}

INSTANTIATE_TEST_SUITE_P(Models, Goldens, testing::ValuesIn(golden_cases()),
                         [](const auto& instance) { return instance.param.filename().string(); });

}  // namespace
}  // namespace tp
