// Requests on their way to the generating loop and back, in one process.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/collectives_inproc.h"
#include "runtime/serve/openai_answer.h"
#include "runtime/serve/openai_request.h"
#include "runtime/serve/request_queue.h"
#include "runtime/serve/serve_counts.h"
#include "runtime/serve/shared_source.h"
#include "sharding/error.h"
#include "tests/runtime/scripted_engine.h"

namespace tp {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

QueuedPrompt queued(std::vector<int32_t> ids, int64_t new_tokens = 3) {
  QueuedPrompt prompt;
  prompt.prompt.ids = std::move(ids);
  prompt.prompt.max_new_tokens = new_tokens;
  return prompt;
}

TEST(RequestQueue, TakesAllPromptsOfARequestOrNone) {
  RequestQueue queue(nullptr, {}, /*most_waiting=*/3, /*slots=*/2);
  EXPECT_NE(queue.add({queued({1}), queued({2})}), nullptr);
  EXPECT_NE(queue.add({queued({3}), queued({4})}), nullptr);
  EXPECT_EQ(queue.add({queued({5}), queued({6})}), nullptr);
  EXPECT_NE(queue.add({queued({7})}), nullptr);
  EXPECT_EQ(queue.counts().refused, 1);
  EXPECT_EQ(queue.counts().waiting, 5);
  EXPECT_EQ(queue.take(2, 0ms).prompts.size(), 2U);
  EXPECT_EQ(queue.counts().running, 2);
  EXPECT_EQ(queue.counts().waiting, 3);
  EXPECT_EQ(queue.add({queued({8})}), nullptr);
}

TEST(RequestQueue, GivesNothingNewOnceClosedAndEmpty) {
  RequestQueue queue(nullptr, {}, 3, 1);
  queue.add({queued({1})});
  queue.close();
  EXPECT_EQ(queue.add({queued({2})}), nullptr);
  EXPECT_FALSE(queue.take(0, 0ms).last);
  EXPECT_TRUE(queue.take(1, 0ms).last);
}

TEST(RequestQueue, CancelsWhatWaitsAtOnceAndTellsOfTheRest) {
  RequestQueue queue(nullptr, {}, 3, 1);
  const auto running = queue.add({queued({1})}), waiting = queue.add({queued({2})});
  queue.take(1, 0ms);
  queue.cancel(waiting);
  queue.cancel(running);
  const PromptArrivals arrivals = queue.take(1, 0ms);
  EXPECT_TRUE(arrivals.prompts.empty());
  EXPECT_THAT(arrivals.cancelled, ElementsAre(0U));
  EXPECT_EQ(queue.counts().cancelled, 1);
}

TEST(RequestQueue, EndsEveryAnswerWhenNothingWillBeGenerated) {
  RequestQueue queue(nullptr, {}, 3, 1);
  const auto answer = queue.add({queued({1})});
  queue.end_all();
  EXPECT_EQ(answer->next(0ms)->finish, FinishReason::kInterrupted);
  EXPECT_EQ(answer->next(0ms), std::nullopt);
}

TEST(SharedSource, ArrivalsAreTheSameAsText) {
  EXPECT_EQ(to_text({}), "");
  PromptArrivals arrivals;
  arrivals.prompts = {{7, {{1, 2}, 5}}, {8, {{3}, 4}}};
  arrivals.prompts[1].second.top_logprobs = 2;
  arrivals.cancelled = {3};
  arrivals.last = true;
  const PromptArrivals read = arrivals_from_text(to_text(arrivals));
  // Ranks that do not sample must know whether all logits are wanted.
  EXPECT_TRUE(read.prompts.at(0).second.likeliest());
  EXPECT_FALSE(read.prompts.at(1).second.likeliest());
  ASSERT_EQ(read.prompts.size(), 2U);
  EXPECT_EQ(read.prompts[0].first, 7U);
  EXPECT_THAT(read.prompts[0].second.ids, ElementsAre(1, 2));
  EXPECT_EQ(read.prompts[0].second.max_new_tokens, 5);
  EXPECT_THAT(read.cancelled, ElementsAre(3U));
  EXPECT_TRUE(read.last);
}

// The tokens of an answer, to its end.
std::vector<int32_t> tokens_of(Answer& answer) {
  std::vector<int32_t> tokens;
  for (;;) {
    const auto event = answer.next(10s);
    if (!event) return {-1};
    if (event->finish) return tokens;
    tokens.push_back(event->token);
  }
}

TEST(SharedSource, ManyThreadsGetTheTokensTheyWouldGetAlone) {
  constexpr int64_t kVocab = 31;
  RequestQueue queue(nullptr, {}, 100, 3);
  std::vector<std::thread> clients;
  std::vector<std::vector<int32_t>> got(24);
  std::atomic<int> left{24};
  for (int32_t i = 0; i < 24; ++i) {
    clients.emplace_back([&, i] {
      const auto answer = queue.add({queued({i, 2}, 1 + i % 5)});
      got[static_cast<size_t>(i)] = tokens_of(*answer);
      if (--left == 0) queue.close();
    });
  }
  run_ranks(2, [&](Communicator& communicator) {
    ModelConfig config;
    config.vocab_size = kVocab;
    ScriptedEngine engine(3, 64, kVocab);
    SharedSource source(communicator, communicator.rank() == 0 ? &queue : nullptr);
    GenerateOptions options;
    options.prefix_cache = true;
    generate(engine, communicator, config, source, options, &queue);
  });
  for (std::thread& client : clients) client.join();
  for (int32_t i = 0; i < 24; ++i) {
    std::vector<int32_t> ids = {i, 2}, want;
    for (int32_t step = 0; step < 1 + i % 5; ++step) {
      want.push_back(ScriptedEngine::next_token(ids, kVocab));
      ids.push_back(want.back());
    }
    EXPECT_EQ(got[static_cast<size_t>(i)], want) << "client " << i;
  }
}

class OpenAi : public testing::Test {
 protected:
  OpenAi() : chat_("/nowhere", "", ""), rules_{nullptr, chat_, "tiny", 100, 40, {}, 0} {}

  OpenAiRequest read(const std::string& body, bool chat = false) const { return read_openai_request(body, chat, rules_); }
  std::string refusal(const std::string& body, bool chat = false) const {
    try {
      read(body, chat);
    } catch (const Error& error) {
      return error.where().empty() ? error.message() : error.where() + ": " + error.message();
    }
    return "accepted";
  }

  ChatPrompt chat_;
  RequestRules rules_;
};

TEST_F(OpenAi, ARequestSaysHowItsPromptsAreContinued) {
  const OpenAiRequest request = read(
      R"({"model":"tiny","prompt":[[1,2],[3]],"n":2,"max_tokens":5,"temperature":0.5,"seed":7,"logit_bias":{"4":-1},"logprobs":2,)"
      R"("stream":true,"stream_options":{"include_usage":true}})");
  ASSERT_EQ(request.prompts.size(), 4U);
  EXPECT_THAT(request.prompts[1].prompt.ids, ElementsAre(1, 2));
  EXPECT_THAT(request.prompts[2].prompt.ids, ElementsAre(3));
  EXPECT_EQ(request.prompts[1].prompt.random_stream, uint64_t{1} << 32);
  EXPECT_EQ(request.prompts[2].prompt.random_stream, 0U);
  const GeneratePrompt& prompt = request.prompts[0].prompt;
  EXPECT_EQ(prompt.max_new_tokens, 5);
  EXPECT_TRUE(prompt.sampling.do_sample);
  EXPECT_EQ(prompt.sampling.temperature, 0.5);
  EXPECT_EQ(prompt.sampling.seed, 7U);
  EXPECT_THAT(prompt.sampling.logit_bias, ElementsAre(std::pair(4, -1.0)));
  EXPECT_EQ(prompt.top_logprobs, 2);
  EXPECT_TRUE(request.stream && request.include_usage);
}

TEST_F(OpenAi, WithoutAWordAboutItsLengthAnAnswerHasOpenAisOrWhatIsLeft) {
  EXPECT_EQ(read(R"({"prompt":[1,2]})").prompts[0].prompt.max_new_tokens, 16);
  EXPECT_EQ(read(R"({"prompt":[[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30]]})")
                .prompts[0]
                .prompt.max_new_tokens,
            10);
  rules_.max_new_tokens = 7;
  EXPECT_EQ(read(R"({"prompt":[1,2]})").prompts[0].prompt.max_new_tokens, 7);
}

TEST_F(OpenAi, WhatIsWrongIsNamed) {
  EXPECT_EQ(refusal("[1]"), "the body is not a JSON object");
  EXPECT_THAT(refusal("{"), HasSubstr("not valid JSON"));
  EXPECT_EQ(refusal("{}"), "`prompt` is missing");
  EXPECT_EQ(refusal(R"({"prompt":"x"})"), "this model has no tokenizer: give the prompt as token ids");
  EXPECT_EQ(refusal(R"({"prompt":[1,100]})"), "`prompt`: 100 is not a token id, which are 0 to 99");
  EXPECT_EQ(refusal(R"({"prompt":[]})"), "`prompt` is empty");
  EXPECT_EQ(refusal(R"({"prompt":[[]]})"), "the prompt has no token");
  EXPECT_EQ(refusal(R"({"prompt":[1],"model":"other"})"),
            "model: the model \"other\" does not exist; this server has \"tiny\"");
  EXPECT_EQ(refusal(R"({"prompt":[1],"max_tokens":0})"), "`max_tokens`: 0 is not a whole number from 1 to 2147483647");
  EXPECT_EQ(refusal(R"({"prompt":[1],"max_tokens":40})"),
            "the prompt has 1 tokens and `max_tokens` is 40, but the context of this server has 40 in all");
  EXPECT_EQ(refusal(R"({"prompt":[1],"temperature":-1})"), "`temperature`: -1 is not 0 or more");
  EXPECT_EQ(refusal(R"({"prompt":[1],"n":2,"temperature":0})"),
            "2 continuations of one prompt would be the same without sampling");
  EXPECT_EQ(refusal(R"({"prompt":[1],"best_of":3})"), "`best_of` is not supported; use `n`");
  EXPECT_EQ(refusal(R"({"prompt":[1],"response_format":{"type":"json_object"}})"),
            "`response_format`: only {\"type\":\"text\"} is supported");
  EXPECT_EQ(refusal(R"({"messages":[{"role":"user","content":"x"}],"tool_choice":"required"})", true),
            "`tool_choice`: only \"auto\" and \"none\" are supported");
  EXPECT_EQ(refusal(R"({"messages":5})", true), "`messages` is not a list of messages");
}

TEST_F(OpenAi, AMessageMayComeInParts) {
  const std::string path = testing::TempDir() + "parts.jinja";
  std::ofstream(path) << "{{ messages[0].content }}";
  const ChatPrompt chat("/nowhere", path, "");
  const RequestRules rules{Tokenizer::load(TPRUN_SOURCE_DIR "/examples/tiny"), chat, "tiny", 768, 40, {}, 0};
  const auto read = [&](const std::string& part) {
    return read_openai_request(R"({"messages":[{"role":"user","content":[{"type":"text","text":"A "},)" + part + "]}]}", true,
                               rules);
  };
  EXPECT_EQ(read(R"({"type":"text","text":"chip"})").prompts[0].text, "A chip");
  EXPECT_THROW(read(R"({"type":"image_url","image_url":{"url":"x"}})"), Error);
}

TEST_F(OpenAi, ArgumentsOfACallReachTheTemplateAsAnObject) {
  const std::string path = testing::TempDir() + "calls.jinja";
  std::ofstream(path) << "{{ messages[0].tool_calls[0].function.arguments | tojson }}";
  const ChatPrompt chat("/nowhere", path, "");
  const RequestRules rules{Tokenizer::load(TPRUN_SOURCE_DIR "/examples/tiny"), chat, "tiny", 768, 400, {}, 0};
  const auto text = [&](const std::string& arguments) {
    return read_openai_request(R"({"messages":[{"role":"assistant","content":null,"tool_calls":[{"function":{"arguments":)" +
                                   arguments + "}}]}]}",
                               true, rules)
        .prompts[0]
        .text;
  };
  EXPECT_EQ(text(R"("{\"b\": 1, \"a\": \"x\"}")"), R"({"b": 1, "a": "x"})");
  EXPECT_EQ(text(R"({"b": 1})"), R"({"b": 1})");
  EXPECT_EQ(text(R"("{broken")"), R"("{broken")");
  EXPECT_EQ(text(R"("7")"), R"("7")");
}

// An answer without its id and its time.
nlohmann::json shown(const std::string& text) {
  nlohmann::json json = nlohmann::json::parse(text);
  json.erase("id");
  json.erase("created");
  return json;
}

TEST_F(OpenAi, AnAnswerHasItsChoicesAndUsage) {
  const OpenAiRequest request = read(R"({"prompt":[[1,2],[3]],"logprobs":1})");
  OpenAiAnswer answer(request, "tiny", nullptr);
  answer.take({1, 9, "b", TokenLogprobs{-0.5f, {{8, -0.25f}}}, std::nullopt});
  answer.take({0, 8, "a", TokenLogprobs{-1.0f, {{8, -1.0f}}}, std::nullopt});
  answer.take({1, -1, "c", std::nullopt, FinishReason::kLength});
  EXPECT_FALSE(answer.done());
  answer.take({0, -1, "", std::nullopt, FinishReason::kEos, 1});
  EXPECT_TRUE(answer.done());
  EXPECT_EQ(shown(answer.finish()), nlohmann::json::parse(R"({"object":"text_completion","model":"tiny","choices":[
    {"index":0,"text":"a","logprobs":{"tokens":["8"],"token_logprobs":[-1.0],"top_logprobs":[{"8":-1.0}]},"finish_reason":"stop"},
    {"index":1,"text":"bc","logprobs":{"tokens":["9"],"token_logprobs":[-0.5],"top_logprobs":[{"8":-0.25}]},
     "finish_reason":"length"}],
    "usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"prompt_tokens_details":{"cached_tokens":1}}})"));
}

TEST_F(OpenAi, AStreamedConversationComesInChunks) {
  OpenAiRequest request = read(R"({"prompt":[1],"stream":true,"stream_options":{"include_usage":true}})");
  request.chat = true;
  OpenAiAnswer answer(request, "tiny", nullptr);
  EXPECT_EQ(shown(answer.take({0, 5, "Hi", std::nullopt, std::nullopt}).at(0)),
            nlohmann::json::parse(R"({"object":"chat.completion.chunk","model":"tiny","choices":[{"index":0,
              "delta":{"role":"assistant","content":"Hi"},"logprobs":null,"finish_reason":null}],"usage":null})"));
  EXPECT_TRUE(answer.take({0, 6, "", std::nullopt, std::nullopt}).empty());
  EXPECT_EQ(shown(answer.take({0, -1, "", std::nullopt, FinishReason::kStop}).at(0)),
            nlohmann::json::parse(R"({"object":"chat.completion.chunk","model":"tiny","choices":[{"index":0,"delta":{},
              "logprobs":null,"finish_reason":"stop"}],"usage":null})"));
  EXPECT_EQ(shown(answer.finish()), nlohmann::json::parse(R"({"object":"chat.completion.chunk","model":"tiny","choices":[],
    "usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"prompt_tokens_details":{"cached_tokens":0}}})"));
}

TEST_F(OpenAi, AnAnswerThatIsLateEndsWithThatReason) {
  const OpenAiRequest request = read(R"({"prompt":[1],"stream":true})");
  OpenAiAnswer answer(request, "tiny", nullptr);
  answer.take({0, 5, "a", std::nullopt, std::nullopt});
  EXPECT_EQ(shown(answer.time_out().at(0))["choices"][0]["finish_reason"], "timeout");
  EXPECT_TRUE(answer.done());
}

TEST(Prometheus, HasEveryCounterAndACumulativeHistogram) {
  ServeCounts counts;
  counts.waiting = 2;
  counts.generated_tokens = 70;
  counts.first_token_buckets[0] = 3;
  counts.first_token_buckets.back() = 1;
  counts.first_token_sum_s = 61.5;
  const std::string text = prometheus_text(counts, 4);
  EXPECT_THAT(text, HasSubstr("# TYPE tprun_chips gauge\ntprun_chips 4\n"));
  EXPECT_THAT(text, HasSubstr("tprun_requests_waiting 2\n"));
  EXPECT_THAT(text, HasSubstr("tprun_generated_tokens_total 70\n"));
  EXPECT_THAT(text, HasSubstr("tprun_continuations_total{finish_reason=\"eos\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{le=\"0.01\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{le=\"60\"} 3\ntprun_time_to_first_token_seconds_bucket{le=\"+Inf\"} 4\n"
                              "tprun_time_to_first_token_seconds_sum 61.5\ntprun_time_to_first_token_seconds_count 4\n"));
}

}  // namespace
}  // namespace tp
