#include "runtime/generate.h"

#include <gmock/gmock.h>

#include <cmath>

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
  bool copies = false;
};

struct Outcome {
  std::vector<Row> rows;
  std::vector<ScriptedEngine::Call> calls;
  int64_t longest = 0, positions = 0;
  GenerateResult result;
};

Outcome run(const std::vector<GeneratePrompt>& prompts, Setting setting = {}) {
  setting.config.vocab_size = kVocab;
  Outcome outcome;
  run_ranks(1, [&](Communicator& communicator) {
    ScriptedEngine engine(setting.slots, setting.cache_len, kVocab, setting.copies);
    RecordingSink sink(prompts.size(), setting.stop_token);
    outcome.result = generate(engine, communicator, setting.config, prompts, setting.options, &sink);
    outcome.rows = sink.rows;
    outcome.calls = engine.calls();
    outcome.longest = engine.longest();
    outcome.positions = engine.positions();
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

TEST(Generate, ALongPromptComesInPartsBesideThoseThatAreContinued) {
  const std::vector<GeneratePrompt> prompts = {{counting(3), 9}, {counting(4), 1}, {counting(600), 3}};
  const Outcome outcome = run(prompts, {.slots = 2, .cache_len = 700});
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(outcome.rows[i], run({prompts[i]}, {.cache_len = 700}).rows[0]);
  // Each part of the 600 with a token of the first prompt; then both go on.
  using Call = ScriptedEngine::Call;
  ASSERT_GE(outcome.calls.size(), 8u);
  EXPECT_THAT(
      std::vector(outcome.calls.begin(), outcome.calls.begin() + 8),
      ElementsAre(Call{2, 16}, Call{1, 256}, Call{1, 1}, Call{1, 256}, Call{1, 1}, Call{1, 128}, Call{1, 1}, Call{2, 1}));
}

TEST(Generate, OfTwoLongPromptsTheSecondGetsWhatTheFirstLeaves) {
  const std::vector<GeneratePrompt> prompts = {
      {counting(3), 9}, {counting(4), 1}, {counting(5), 1}, {counting(600), 3}, {counting(300), 2}};
  const Outcome outcome = run(prompts, {.slots = 3, .cache_len = 700});
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(outcome.rows[i], run({prompts[i]}, {.cache_len = 700}).rows[0]);
  using Call = ScriptedEngine::Call;
  ASSERT_GE(outcome.calls.size(), 11u);
  EXPECT_THAT(std::vector(outcome.calls.begin(), outcome.calls.begin() + 11),
              ElementsAre(Call{3, 16}, Call{1, 256}, Call{1, 1}, Call{1, 256}, Call{1, 1}, Call{1, 128}, Call{1, 256},
                          Call{1, 1}, Call{1, 256}, Call{2, 1}, Call{3, 1}));
}

TEST(Generate, APromptWhoseRotationDependsOnItsLengthComesWhole) {
  Setting setting{.slots = 2, .cache_len = 700};
  setting.config.ropes.resize(1);
  setting.config.ropes[0].type = RopeType::kDynamic;
  setting.config.max_position_embeddings = 500;
  const Outcome outcome = run({{counting(3), 9}, {counting(4), 1}, {counting(600), 1}}, setting);
  EXPECT_EQ(outcome.calls[1], (ScriptedEngine::Call{1, 700}));
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
    const GenerateResult result =
        generate(engine, communicator, config, std::vector<GeneratePrompt>{{{1, 2}, 5}, {{3}, 5}}, options, &sink);
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
    generate(engine, communicator, config, std::vector<GeneratePrompt>{{{1, 2}, 20}}, options,
             communicator.rank() == 0 ? &sink : nullptr);
    longest[static_cast<size_t>(communicator.rank())] = engine.longest();
  });
  EXPECT_THAT(sink.rows, ElementsAre(Row{{23, 30, 24}, reason(FinishReason::kEos)}));
  EXPECT_THAT(longest, ElementsAre(4, 4, 4));
}

Ids joined(Ids first, const Ids& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(Generate, ASlotKeepsWhatTheNextPromptBeginsWith) {
  const Ids system = counting(20);
  const std::vector<GeneratePrompt> prompts = {
      {joined(system, {1, 2}), 3}, {joined(system, {3}), 3}, {joined(system, {1, 9}), 2}, {system, 2}};
  const Outcome without = run(prompts), with = run(prompts, {.options = {.prefix_cache = true}});
  EXPECT_EQ(with.rows, without.rows);
  EXPECT_EQ(with.result.times.reused_tokens, 20 + 20 + 19);  // the last id of a prompt is always run
  EXPECT_EQ(with.positions, without.positions - 59);
  EXPECT_EQ(without.result.times.reused_tokens, 0);
}

TEST(Generate, WhatTheModelWroteIsKeptForTheNextTurn) {
  const Outcome first = run({{{1, 2}, 3}});
  const Ids second = joined(joined({1, 2}, first.rows[0].ids), {7, 8});
  const Outcome both = run({{{1, 2}, 3}, {second, 3}}, {.options = {.prefix_cache = true}});
  EXPECT_EQ(both.result.times.reused_tokens, 4);  // the last token was chosen and not run
  EXPECT_EQ(both.rows[1], run({{second, 3}}).rows[0]);
}

TEST(Generate, AnEngineThatCopiesComputesACommonBeginningOnce) {
  const Ids system = counting(20);
  std::vector<GeneratePrompt> prompts;
  for (int32_t i = 0; i < 6; ++i) prompts.push_back({joined(system, {i}), 2});
  const Outcome without = run(prompts, {.slots = 3});
  const Outcome with = run(prompts, {.slots = 3, .options = {.prefix_cache = true}, .copies = true});
  EXPECT_EQ(with.rows, without.rows);
  EXPECT_EQ(with.positions, 20 + 6 * 2);  // each prompt's own id and its first new token
}

TEST(Generate, OthersWaitForABeginningThatComesInParts) {
  const Ids system = counting(400);
  const std::vector<GeneratePrompt> prompts = {
      {counting(3), 9}, {counting(4), 1}, {counting(5), 1}, {joined(system, {1}), 2}, {joined(system, {2}), 2}};
  const Outcome outcome = run(prompts, {.slots = 3, .cache_len = 700, .options = {.prefix_cache = true}, .copies = true});
  EXPECT_EQ(outcome.rows[4], run({prompts[4]}, {.cache_len = 700}).rows[0]);
  EXPECT_GE(outcome.result.times.reused_tokens, 400);
}

TEST(Generate, KeysOfStretchedRopeAreNotShared) {
  Setting setting;
  setting.config.ropes.resize(1);
  setting.config.ropes[0].type = RopeType::kDynamic;
  setting.config.max_position_embeddings = 21;
  setting.options.prefix_cache = true;
  const Ids system = counting(18);
  EXPECT_EQ(run({{joined(system, {1}), 2}, {joined(system, {2}), 2}}, setting).result.times.reused_tokens, 18);
  EXPECT_EQ(run({{joined(system, {1}), 4}, {joined(system, {2}), 2}}, setting).result.times.reused_tokens, 0);
  EXPECT_EQ(run({{joined(system, {1}), 2}, {joined(system, {2, 3, 4, 5}), 2}}, setting).result.times.reused_tokens, 0);
}

TEST(Generate, IdsBeyondTheAllowedVocabularyAreNeverChosen) {
  // 23 would come first; all logits that are left are 0, and of equal ones the lowest id wins.
  EXPECT_THAT(run({{{1, 2}, 1}}, {.options = {.allowed_vocab = 23}}).rows,
              ElementsAre(Row{{0}, reason(FinishReason::kLength)}));
}

TEST(Generate, APromptMayIgnoreTheEndOfSequence) {
  const Outcome outcome = run({{{1, 2}, 5, {}, 0, true}, {{1, 2}, 5}}, {.options = {.eos_token_ids = {24}}});
  EXPECT_THAT(outcome.rows, ElementsAre(Row{{23, 30, 24, 7, 26}, reason(FinishReason::kLength)},
                                        Row{{23, 30, 24}, reason(FinishReason::kEos)}));
}

TEST(Generate, TellsLogprobsOfTheUnchangedLogitsToThosePromptsThatAsk) {
  class LogprobSink : public RecordingSink {
   public:
    using RecordingSink::RecordingSink;
    void logprobs(size_t index, const TokenLogprobs& logprobs) override { seen.emplace_back(index, logprobs.chosen); }
    std::vector<std::pair<size_t, float>> seen;
  };
  LogprobSink sink(2);
  GeneratePrompt biased{{1, 2}, 1};
  biased.sampling.logit_bias = {{4, 100.0}};
  biased.top_logprobs = 0;
  run_ranks(1, [&](Communicator& communicator) {
    ModelConfig config;
    config.vocab_size = kVocab;
    ScriptedEngine engine(1, 64, kVocab);
    generate(engine, communicator, config, std::vector<GeneratePrompt>{{{1, 2}, 1}, biased}, {}, &sink);
  });
  EXPECT_THAT(sink.rows[1].ids, ElementsAre(4));
  ASSERT_EQ(sink.seen.size(), 1u);
  EXPECT_EQ(sink.seen[0].first, 1u);
  // The scripted logits are 10 for one id and 0 for the 30 others.
  EXPECT_NEAR(sink.seen[0].second, -std::log(std::exp(10.0) + 30), 1e-5);
}

// Gives what it is told, call by call.
class TimedSource : public PromptSource {
 public:
  explicit TimedSource(std::vector<PromptArrivals> calls) : calls_(std::move(calls)) {}
  PromptArrivals take(int64_t wanted, bool) override {
    wanted_.push_back(wanted);
    PromptArrivals now = std::move(calls_.at(next_));
    if (next_ + 1 < calls_.size()) ++next_;
    return now;
  }
  const std::vector<int64_t>& wanted() const { return wanted_; }

 private:
  std::vector<PromptArrivals> calls_;
  std::vector<int64_t> wanted_;
  size_t next_ = 0;
};

TEST(Generate, PromptsMayComeAndBeCancelledAtAnyTime) {
  TimedSource source({{{{5, {{1, 2}, 9}}}}, {}, {{{6, {{3}, 2}}, {7, {{4}, 2}}}, {5}}, {{}, {7}, true}});
  RecordingSink sink(8);
  run_ranks(1, [&](Communicator& communicator) {
    ModelConfig config;
    config.vocab_size = kVocab;
    ScriptedEngine engine(1, 64, kVocab);
    generate(engine, communicator, config, source, {}, &sink);
  });
  EXPECT_EQ(sink.rows[5], (Row{{23, 30}, reason(FinishReason::kCancelled)}));
  EXPECT_EQ(sink.rows[6], run({{{3}, 2}}).rows[0]);
  EXPECT_EQ(sink.rows[7], (Row{{}, reason(FinishReason::kCancelled)}));
  EXPECT_THAT(source.wanted(), ElementsAre(1, 0, 0, -1));
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
