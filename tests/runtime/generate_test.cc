#include "runtime/generate.h"

#include <gmock/gmock.h>

#include "runtime/collectives_inproc.h"
#include "sharding/error.h"
#include "tests/runtime/scripted_engine.h"

namespace tp {
namespace {

constexpr int64_t kVocab = 31;
using Ids = std::vector<int32_t>;
using testing::ElementsAre;

struct Row {
  Ids ids;
  int finish = -1;
  bool operator==(const Row&) const = default;
};

int reason(FinishReason value) {
  return static_cast<int>(value);
}

// Keeps what comes; stops every prompt after `stop_token`.
class RecordingSink : public TokenSink {
 public:
  explicit RecordingSink(size_t prompts, int32_t stop_token = -1) : rows(prompts), stop_token_(stop_token) {}
  bool token(size_t index, int32_t id) override {
    rows[index].ids.push_back(id);
    return id == stop_token_;
  }
  void finished(size_t index, FinishReason why) override { rows[index].finish = reason(why); }
  std::vector<Row> rows;

 private:
  int32_t stop_token_;
};

struct Setting {
  int64_t slots = 1, cache_len = 64;
  GenerateOptions options;
  int32_t stop_token = -1;
  ModelConfig config;
};

struct Outcome {
  std::vector<Row> rows;
  std::vector<ScriptedEngine::Call> calls;
  int64_t longest = 0;
  GenerateResult result;
};

Outcome run(const std::vector<GeneratePrompt>& prompts, Setting setting = {}) {
  setting.config.vocab_size = kVocab;
  Outcome outcome;
  run_ranks(1, [&](Communicator& communicator) {
    ScriptedEngine engine(setting.slots, setting.cache_len, kVocab);
    RecordingSink sink(prompts.size(), setting.stop_token);
    outcome.result = generate(engine, communicator, setting.config, prompts, setting.options, &sink);
    outcome.rows = sink.rows;
    outcome.calls = engine.calls();
    outcome.longest = engine.longest();
  });
  return outcome;
}

Ids counting(int32_t length) {
  Ids ids;
  for (int32_t i = 0; i < length; ++i) ids.push_back(i % 29);
  return ids;
}

TEST(Generate, EndsAtAnyTokenOfTheEosListAndKeepsIt) {
  const Outcome outcome = run({{{1, 2}, 5}}, {.options = {.eos_token_ids = {11, 24}}});
  EXPECT_THAT(outcome.rows, ElementsAre(Row{{23, 30, 24}, reason(FinishReason::kEos)}));
}

TEST(Generate, WithoutEosTokensGoesToMaxNewTokens) {
  EXPECT_THAT(run({{{1, 2}, 5}}).rows, ElementsAre(Row{{23, 30, 24, 7, 26}, reason(FinishReason::kLength)}));
}

TEST(Generate, MaxNewTokensOfOneAndOfNone) {
  const Outcome outcome = run({{{1, 2}, 1}, {{1, 2}, 0}});
  EXPECT_THAT(outcome.rows, ElementsAre(Row{{23}, reason(FinishReason::kLength)}, Row{{}, reason(FinishReason::kLength)}));
  EXPECT_THAT(outcome.calls, ElementsAre(ScriptedEngine::Call{1, 16}));
}

TEST(Generate, TheSinkStopsAfterItsToken) {
  EXPECT_THAT(run({{{1, 2}, 5}}, {.stop_token = 30}).rows, ElementsAre(Row{{23, 30}, reason(FinishReason::kStop)}));
  // What would end it anyway is the reason that is given.
  EXPECT_THAT(run({{{1, 2}, 5}}, {.options = {.eos_token_ids = {30}}, .stop_token = 30}).rows,
              ElementsAre(Row{{23, 30}, reason(FinishReason::kEos)}));
}

TEST(Generate, RowsOfDifferentLengthInAFewSlotsAreWhatTheyAreAlone) {
  const std::vector<GeneratePrompt> prompts = {{counting(3), 9}, {counting(40), 2}, {counting(1), 1}, {counting(17), 12},
                                               {{5}, 0},         {counting(16), 7}, {{30, 30}, 20}};
  std::vector<Row> alone;
  for (const GeneratePrompt& prompt : prompts) alone.push_back(run({prompt}).rows[0]);
  for (int64_t slots : {1, 2, 3, 10}) EXPECT_EQ(run(prompts, {.slots = slots}).rows, alone) << slots << " slots";
}

TEST(Generate, PrefillsOfOneBucketShareACallAndDecodeIsOneCall) {
  const Outcome outcome = run({{counting(3), 2}, {counting(9), 2}, {counting(20), 2}}, {.slots = 3});
  EXPECT_THAT(outcome.calls, ElementsAre(ScriptedEngine::Call{2, 16}, ScriptedEngine::Call{1, 32}, ScriptedEngine::Call{3, 1}));
  EXPECT_EQ(outcome.result.times.prefill_tokens, 32);
  EXPECT_EQ(outcome.result.times.decode_tokens, 3);
}

TEST(Generate, UsesTheCacheToItsEnd) {
  const Outcome outcome = run({{counting(20), 5}}, {.cache_len = 25});
  EXPECT_EQ(outcome.rows[0].ids.size(), 5u);
  EXPECT_EQ(outcome.longest, 24);                              // the last token is not run
  EXPECT_EQ(outcome.calls[0], (ScriptedEngine::Call{1, 25}));  // the bucket of 32 is clipped
}

TEST(Generate, RefusesWhatDoesNotFitBeforeAnythingRuns) {
  const auto refusal = [](const std::vector<GeneratePrompt>& prompts) {
    try {
      run(prompts, {.cache_len = 24});
    } catch (const Error& error) {
      return error.text();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal({{{1}, 1}, {counting(20), 5}}),
            "prompt 1: 20 tokens and 5 new ones do not fit a cache of 24\n  fix: raise --cache-len or lower --max-new-tokens");
  EXPECT_EQ(refusal({{{}, 1}}), "prompt 0: has no tokens");
}

TEST(Generate, ComputesTheSequenceAgainWhereLongRopeChangesItsFactors) {
  Setting setting;
  setting.config.ropes.resize(1);
  setting.config.ropes[0].type = RopeType::kLongRope;
  setting.config.ropes[0].original_max_position = 4;
  const Outcome outcome = run({{{1, 2}, 5}}, setting);
  EXPECT_THAT(outcome.rows, ElementsAre(Row{{23, 30, 24, 7, 26}, reason(FinishReason::kLength)}));
  // Lengths 2, 3, 4, 5 (again from the start), 6.
  EXPECT_THAT(outcome.calls, ElementsAre(ScriptedEngine::Call{1, 16}, ScriptedEngine::Call{1, 1}, ScriptedEngine::Call{1, 1},
                                         ScriptedEngine::Call{1, 16}, ScriptedEngine::Call{1, 1}));
}

TEST(Generate, ASignalOfAnyRankEndsAllOfThemAtTheSameToken) {
  std::vector<int> signals(2);
  std::vector<size_t> calls(2);
  RecordingSink sink(2);
  std::atomic<int> stop_signal{0};
  run_ranks(2, [&](Communicator& communicator) {
    const auto rank = static_cast<size_t>(communicator.rank());
    ModelConfig config;
    config.vocab_size = kVocab;
    ScriptedEngine engine(1, 64, kVocab);
    const std::atomic<int> none{0};
    GenerateOptions options;
    options.stop_signal = rank == 1 ? &stop_signal : &none;
    if (rank == 1) stop_signal = 15;
    const GenerateResult result = generate(engine, communicator, config, {{{1, 2}, 5}, {{3}, 5}}, options, &sink);
    signals[rank] = result.stop_signal;
    calls[rank] = engine.calls().size();
  });
  EXPECT_THAT(signals, ElementsAre(15, 15));
  EXPECT_THAT(calls, ElementsAre(0u, 0u));
}

TEST(Generate, AllRanksTakeTheTokensOfRankZero) {
  std::vector<int64_t> longest(3);
  RecordingSink sink(1);
  run_ranks(3, [&](Communicator& communicator) {
    ModelConfig config;
    config.vocab_size = kVocab;
    ScriptedEngine engine(1, 64, kVocab);
    GenerateOptions options;
    options.eos_token_ids = {24};
    generate(engine, communicator, config, {{{1, 2}, 20}}, options, communicator.rank() == 0 ? &sink : nullptr);
    longest[static_cast<size_t>(communicator.rank())] = engine.longest();
  });
  EXPECT_THAT(sink.rows, ElementsAre(Row{{23, 30, 24}, reason(FinishReason::kEos)}));
  EXPECT_THAT(longest, ElementsAre(4, 4, 4));
}

TEST(BucketWidth, DoublesFromSixteenUpToTheCache) {
  EXPECT_EQ(bucket_width(1, 100), 16);
  EXPECT_EQ(bucket_width(16, 100), 16);
  EXPECT_EQ(bucket_width(17, 100), 32);
  EXPECT_EQ(bucket_width(64, 100), 64);
  EXPECT_EQ(bucket_width(65, 100), 100);
  EXPECT_EQ(bucket_width(3, 5), 5);
}

}  // namespace
}  // namespace tp
