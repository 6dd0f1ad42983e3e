#include "runtime/sampler.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

#include "runtime/logit_rules.h"
#include "runtime/logprobs.h"
#include "runtime/stop_text.h"
#include "sharding/error.h"

namespace tp {
namespace {

int32_t next_of(const SamplingOptions& options, std::vector<float> logits, const std::vector<int32_t>& history = {},
                uint64_t sequence = 0) {
  return Sampler(options, sequence).next(logits.data(), logits.size(), logits.size(), history);
}

// How often each id comes out over many seeds.
std::map<int32_t, int> counts(SamplingOptions options, const std::vector<float>& logits, int draws = 20000) {
  options.do_sample = true;
  std::map<int32_t, int> counts;
  for (int i = 0; i < draws; ++i) {
    options.seed = i;
    ++counts[next_of(options, logits)];
  }
  return counts;
}

std::vector<int32_t> ids_of(const std::map<int32_t, int>& counts) {
  std::vector<int32_t> ids;
  for (const auto& [id, count] : counts) ids.push_back(id);
  return ids;
}

TEST(Sampler, GreedyTakesTheLowerIdOfATie) {
  EXPECT_EQ(next_of({}, {1.0f, 3.0f, 3.0f, 2.0f}), 1);
}

TEST(Sampler, TemperatureZeroIsGreedy) {
  SamplingOptions options;
  options.do_sample = true;
  options.temperature = 0.0;
  EXPECT_EQ(next_of(options, {1.0f, 3.0f, 3.0f}), 1);
}

TEST(Sampler, NeverChoosesIdsBeyondTheAllowedVocabulary) {
  std::vector<float> logits = {1.0f, 2.0f, 9.0f};
  EXPECT_EQ(Sampler({}, 0).next(logits.data(), 3, 2, {}), 1);
}

TEST(Sampler, RepetitionPenaltyLowersPositiveAndNegativeLogitsOnce) {
  SamplingOptions options;
  options.repetition_penalty = 2.0;
  std::vector<float> logits = {4.0f, -1.0f, -1.5f, 1.0f};
  EXPECT_EQ(Sampler(options, 0).next(logits.data(), 4, 4, {0, 0, 1, 99, -1}), 0);
  EXPECT_THAT(logits, testing::ElementsAre(2.0f, -2.0f, -1.5f, 1.0f));
}

// The logits after the rules.
std::vector<float> ruled(const SamplingOptions& options, std::vector<float> logits, const std::vector<int32_t>& history) {
  apply_logit_rules(logits.data(), static_cast<int64_t>(logits.size()), options, history);
  return logits;
}

TEST(LogitRules, BiasIsAdded) {
  SamplingOptions options;
  options.logit_bias = {{1, 2.5}, {7, 1.0}};
  EXPECT_THAT(ruled(options, {1.0f, 2.0f}, {}), testing::ElementsAre(1.0f, 4.5f));
}

TEST(LogitRules, PresenceCountsOnceAndFrequencyEachTime) {
  SamplingOptions options;
  options.presence_penalty = 0.5;
  EXPECT_THAT(ruled(options, {1.0f, -1.0f, 3.0f}, {0, 1, 1}), testing::ElementsAre(0.5f, -1.5f, 3.0f));
  options.frequency_penalty = 0.25;
  EXPECT_THAT(ruled(options, {1.0f, -1.0f, 3.0f}, {0, 1, 1}), testing::ElementsAre(0.25f, -2.0f, 3.0f));
}

TEST(LogitRules, AnNgramDoesNotComeTwice) {
  const float never = -std::numeric_limits<float>::infinity();
  SamplingOptions options;
  options.no_repeat_ngram_size = 3;
  // ... 1 2 | 0 is there, and so is 1 2 | 3; the last two are 1 2.
  EXPECT_THAT(ruled(options, {1.0f, 1.0f, 1.0f, 1.0f}, {1, 2, 0, 1, 2, 3, 1, 2}),
              testing::ElementsAre(never, 1.0f, 1.0f, never));
  EXPECT_THAT(ruled(options, {1.0f, 1.0f}, {1, 1}), testing::ElementsAre(1.0f, 1.0f));
  options.no_repeat_ngram_size = 1;
  EXPECT_THAT(ruled(options, {1.0f, 1.0f, 1.0f}, {2, 0}), testing::ElementsAre(never, 1.0f, never));
}

TEST(Logprobs, AreOfTheSoftmaxBestFirst) {
  const std::vector<float> logits = {std::log(0.1f), std::log(0.2f), std::log(0.2f), std::log(0.5f)};
  const TokenLogprobs found = token_logprobs(logits.data(), 4, 0, 3);
  EXPECT_NEAR(found.chosen, std::log(0.1), 1e-6);
  ASSERT_EQ(found.top.size(), 3u);
  const std::vector<int32_t> ids = {found.top[0].first, found.top[1].first, found.top[2].first};
  EXPECT_THAT(ids, testing::ElementsAre(3, 1, 2));
  EXPECT_NEAR(found.top[0].second, std::log(0.5), 1e-6);
  EXPECT_TRUE(token_logprobs(logits.data(), 4, 0, 0).top.empty());
  EXPECT_EQ(token_logprobs(logits.data(), 4, 0, 9).top.size(), 4u);
}

TEST(StopText, HoldsBackWhatMayBeItsBeginning) {
  StopText text({"END", "\n\n"});
  EXPECT_EQ(text.push("one E"), "one ");
  EXPECT_EQ(text.push("N"), "");
  EXPECT_EQ(text.push("E\n"), "ENE");
  EXPECT_EQ(text.push("x\n"), "\nx");
  EXPECT_FALSE(text.found());
  EXPECT_EQ(text.push("\ny"), "");
  EXPECT_TRUE(text.found());
  EXPECT_EQ(text.push("more"), "");
  EXPECT_EQ(text.finish(), "");
}

TEST(StopText, TheFirstOfSeveralEndsTheText) {
  StopText text({"bc", "ab"});
  EXPECT_EQ(text.push("xabc"), "x");
  StopText none({});
  EXPECT_EQ(none.push("xabc"), "xabc");
  StopText unfinished({"bcd"});
  EXPECT_EQ(unfinished.push("abc"), "a");
  EXPECT_EQ(unfinished.finish(), "bc");
}

TEST(Sampler, DrawsFollowTheSoftmax) {
  const std::map<int32_t, int> seen = counts({}, {std::log(0.1f), std::log(0.2f), std::log(0.7f)});
  EXPECT_NEAR(seen.at(0) / 20000.0, 0.1, 0.01);
  EXPECT_NEAR(seen.at(1) / 20000.0, 0.2, 0.01);
  EXPECT_NEAR(seen.at(2) / 20000.0, 0.7, 0.01);
}

TEST(Sampler, TemperatureSharpensTheSoftmax) {
  SamplingOptions options;
  options.temperature = 0.5;  // squares the ratio 1 : 3
  EXPECT_NEAR(counts(options, {std::log(1.0f), std::log(3.0f)}).at(0) / 20000.0, 0.1, 0.01);
}

TEST(Sampler, TopKKeepsTiesAtTheBorder) {
  SamplingOptions options;
  options.top_k = 2;
  EXPECT_THAT(ids_of(counts(options, {1.0f, 2.0f, 0.5f, 1.0f})), testing::ElementsAre(0, 1, 3));
}

TEST(Sampler, TopPDropsTheTailAndKeepsAtLeastOne) {
  const std::vector<float> logits = {std::log(0.1f), std::log(0.2f), std::log(0.7f)};
  SamplingOptions options;
  options.top_p = 0.75;  // the tail of 0.1 goes; 0.1 + 0.2 > 0.25, so 0.2 stays
  EXPECT_THAT(ids_of(counts(options, logits)), testing::ElementsAre(1, 2));
  options.top_p = 0.0;
  EXPECT_THAT(ids_of(counts(options, logits, 1000)), testing::ElementsAre(2));
}

TEST(Sampler, MinPIsRelativeToTheMostLikely) {
  SamplingOptions options;
  options.min_p = 0.25;
  EXPECT_THAT(ids_of(counts(options, {std::log(0.1f), std::log(0.2f), std::log(0.7f)})), testing::ElementsAre(1, 2));
}

TEST(Sampler, DependsOnSeedSequenceAndStepAlone) {
  SamplingOptions options;
  options.do_sample = true;
  options.seed = 3;
  const std::vector<float> logits(1000, 0.0f);
  const auto text = [&](uint64_t seed, uint64_t sequence) {
    options.seed = seed;
    Sampler sampler(options, sequence);
    std::vector<int32_t> ids;
    for (int step = 0; step < 8; ++step) {
      std::vector<float> row = logits;
      ids.push_back(sampler.next(row.data(), row.size(), row.size(), {}));
    }
    return ids;
  };
  EXPECT_EQ(text(3, 0), text(3, 0));
  EXPECT_NE(text(3, 0), text(4, 0));
  EXPECT_NE(text(3, 0), text(3, 1));
  EXPECT_NE(text(3, 0)[0], text(3, 0)[1]);
}

TEST(Sampler, RoundingOfTheLogitsDoesNotChangeTheText) {
  SamplingOptions options;
  options.do_sample = true;
  options.temperature = 1.5;
  int different = 0;
  for (int seed = 0; seed < 500; ++seed) {
    options.seed = seed;
    std::vector<float> logits(2000), rounded(2000);
    for (int id = 0; id < 2000; ++id) {
      logits[id] = std::sin(id * 1.7f) * 4;
      rounded[id] = logits[id] + ((id % 2) ? 1e-5f : -1e-5f);
    }
    different += next_of(options, logits) != next_of(options, rounded);
  }
  EXPECT_EQ(different, 0);
}

TEST(Sampler, RefusesLogitsThatAreNoNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), never = -std::numeric_limits<float>::infinity();
  try {
    next_of({}, {1.0f, nan});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.text(), "sampling: the logit of token 1 is not a number");
  }
  EXPECT_THROW(next_of({}, {never, never}), Error);
}

}  // namespace
}  // namespace tp
