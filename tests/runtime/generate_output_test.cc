// The lines and texts of cli.md, from tokens that are pushed by hand.
#include "runtime/generate_output.h"

#include <gtest/gtest.h>

#include "sharding/error.h"
#include "tests/sharding/written_files.h"

namespace tp {
namespace {

// Ids of examples/tiny: bytes as they are, two bytes of é, a special token.
constexpr int32_t kT = 54, kH = 74, kE = 71, kDot = 16, kFirstOfE = 130, kSecondOfE = 105, kEndOfText = 0;

class GenerateOutput : public WrittenFiles {
 protected:
  GenerateOutput() {
    job_.prompts = {{{kT, kH}, "Th", std::nullopt}};
    job_.output = (dir_ / "out").string();
  }

  // What is written when `push` has given its tokens.
  template <class Push>
  std::string written(bool with_tokenizer, Push push) {
    const auto tokenizer = with_tokenizer ? Tokenizer::load(TPRUN_SOURCE_DIR "/examples/tiny") : nullptr;
    {
      OutputFile file(job_.output);
      const auto sink = make_generate_output(job_, tokenizer.get(), file);
      push(*sink);
    }
    std::ifstream file(job_.output, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Job job_;
};

class JsonLines : public GenerateOutput {
 protected:
  JsonLines() { job_.format = "json"; }
};

class TextLines : public GenerateOutput {};

TEST_F(JsonLines, IdsKeepTheEosTokenAndTheTextDoesNot) {
  EXPECT_EQ(written(true,
                    [](TokenSink& sink) {
                      for (int32_t id : {kE, kDot, kEndOfText}) EXPECT_FALSE(sink.token(0, id));
                      sink.finished(0, FinishReason::kEos);
                    }),
            R"({"index":0,"prompt_ids":[54,74],"ids":[71,16,0],"text":"e.","finish_reason":"eos"})"
            "\n");
  // An eos token that is not special is no text either.
  EXPECT_EQ(written(true,
                    [](TokenSink& sink) {
                      for (int32_t id : {kE, kDot}) sink.token(0, id);
                      sink.finished(0, FinishReason::kEos);
                    }),
            R"({"index":0,"prompt_ids":[54,74],"ids":[71,16],"text":"e","finish_reason":"eos"})"
            "\n");
}

TEST_F(JsonLines, TextIsNullWithoutTokenizerAndEmptyWithoutTokens) {
  const auto nothing = [](TokenSink& sink) { sink.finished(0, FinishReason::kLength); };
  EXPECT_EQ(written(false, nothing), R"({"index":0,"prompt_ids":[54,74],"ids":[],"text":null,"finish_reason":"length"})"
                                     "\n");
  EXPECT_EQ(written(true, nothing), R"({"index":0,"prompt_ids":[54,74],"ids":[],"text":"","finish_reason":"length"})"
                                    "\n");
}

TEST_F(JsonLines, BrokenBytesAreReplaced) {
  EXPECT_EQ(
      written(true,
              [](TokenSink& sink) {
                for (int32_t id : {kFirstOfE, kSecondOfE, kFirstOfE}) sink.token(0, id);
                sink.finished(0, FinishReason::kLength);
              }),
      "{\"index\":0,\"prompt_ids\":[54,74],\"ids\":[130,105,130],\"text\":\"\u00e9\uFFFD\",\"finish_reason\":\"length\"}\n");
}

TEST_F(JsonLines, AreInTheOrderOfThePromptsHoweverTheyFinish) {
  job_.prompts = {{{1}}, {{2}}, {{3}}};
  for (int64_t index : {1, 2}) job_.prompts[static_cast<size_t>(index)].index = index;
  EXPECT_EQ(written(false,
                    [](TokenSink& sink) {
                      sink.token(2, 30);
                      sink.finished(2, FinishReason::kLength);
                      sink.token(0, 10);
                      sink.token(1, 20);
                      sink.token(0, 11);
                      sink.finished(1, FinishReason::kEos);
                      sink.finished(0, FinishReason::kLength);
                    }),
            R"({"index":0,"prompt_ids":[1],"ids":[10,11],"text":null,"finish_reason":"length"})"
            "\n"
            R"({"index":1,"prompt_ids":[2],"ids":[20],"text":null,"finish_reason":"eos"})"
            "\n"
            R"({"index":2,"prompt_ids":[3],"ids":[30],"text":null,"finish_reason":"length"})"
            "\n");
}

TEST_F(JsonLines, TellWhichContinuationAndLogprobsWhereAskedFor) {
  job_.prompts = {{{1}}, {{1}}};
  job_.prompts[0].index = job_.prompts[1].index = 7;
  job_.prompts[0].sample = 0;
  job_.prompts[1].sample = 1;
  job_.options.top_logprobs = 0;
  job_.prompts[1].options.emplace().top_logprobs = 2;
  EXPECT_EQ(written(false,
                    [](TokenSink& sink) {
                      sink.logprobs(1, {-0.5f, {{9, -0.25f}, {20, -0.5f}}});
                      sink.token(1, 20);
                      sink.logprobs(0, {-0.75f, {}});
                      sink.token(0, 10);
                      sink.finished(1, FinishReason::kLength);
                      sink.finished(0, FinishReason::kLength);
                    }),
            R"({"index":7,"sample":0,"prompt_ids":[1],"ids":[10],"text":null,"finish_reason":"length","logprobs":[-0.75]})"
            "\n"
            R"({"index":7,"sample":1,"prompt_ids":[1],"ids":[20],"text":null,"finish_reason":"length","logprobs":[-0.5],)"
            R"("top_logprobs":[[{"id":9,"logprob":-0.25},{"id":20,"logprob":-0.5}]]})"
            "\n");
}

TEST_F(JsonLines, OfBadLinesTellTheError) {
  job_.prompts = {{}, {{2}}};
  job_.prompts[0].error = "line 1: bad";
  job_.prompts[1].index = 1;
  EXPECT_EQ(written(false,
                    [](TokenSink& sink) {
                      sink.finished(0, FinishReason::kLength);
                      sink.token(1, 5);
                      sink.finished(1, FinishReason::kLength);
                    }),
            R"({"index":0,"error":"line 1: bad"})"
            "\n"
            R"({"index":1,"prompt_ids":[2],"ids":[5],"text":null,"finish_reason":"length"})"
            "\n");
}

TEST_F(JsonLines, APromptMayHaveStopStringsOfItsOwn) {
  job_.prompts[0].options.emplace().stop = {"e"};
  written(true, [](TokenSink& sink) { EXPECT_TRUE(sink.token(0, kE)); });
}

TEST_F(JsonLines, AreWrittenBehindWhatIsKeptOfTheFile) {
  std::ofstream(job_.output) << "kept\ncut o";
  const auto tokenizer = nullptr;
  OutputFile file(job_.output, 5);
  EXPECT_THROW(OutputFile(job_.output, 5), Error);  // another run writes it
  const auto sink = make_generate_output(job_, tokenizer, file);
  sink->finished(0, FinishReason::kLength);
  std::ifstream read(job_.output, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(read), {}),
            "kept\n"
            R"({"index":0,"prompt_ids":[54,74],"ids":[],"text":null,"finish_reason":"length"})"
            "\n");
}

TEST_F(JsonLines, StopStringsMaySpanTokensAndStayInTheText) {
  job_.options.stop = {"no such", "he."};
  EXPECT_EQ(written(true,
                    [](TokenSink& sink) {
                      EXPECT_FALSE(sink.token(0, kH));
                      EXPECT_FALSE(sink.token(0, kE));
                      EXPECT_TRUE(sink.token(0, kDot));
                      sink.finished(0, FinishReason::kStop);
                    }),
            R"({"index":0,"prompt_ids":[54,74],"ids":[74,71,16],"text":"he.","finish_reason":"stop"})"
            "\n");
}

TEST_F(JsonLines, AStopStringMayEndInTheMiddleOfACharactersBytes) {
  job_.options.stop = {"\u00e9"};
  written(true, [](TokenSink& sink) {
    EXPECT_FALSE(sink.token(0, kFirstOfE));
    EXPECT_TRUE(sink.token(0, kSecondOfE));
  });
}

TEST_F(JsonLines, ThePromptIsNoPartOfAStopString) {
  job_.options.stop = {"The"};
  written(true, [](TokenSink& sink) {
    EXPECT_FALSE(sink.token(0, kE));
    EXPECT_FALSE(sink.token(0, kT));
    EXPECT_FALSE(sink.token(0, kH));
    EXPECT_TRUE(sink.token(0, kE));
  });
}

TEST_F(JsonLines, AnInterruptedPromptHasNoLine) {
  EXPECT_EQ(written(false,
                    [](TokenSink& sink) {
                      sink.token(0, 1);
                      sink.finished(0, FinishReason::kInterrupted);
                    }),
            "");
}

TEST_F(TextLines, AreThePromptAndTheContinuationWithoutSpecialTokens) {
  const auto push = [](TokenSink& sink) {
    for (int32_t id : {kE, kFirstOfE, kSecondOfE, kDot, kEndOfText}) sink.token(0, id);
    sink.finished(0, FinishReason::kEos);
  };
  EXPECT_EQ(written(true, push), "The\u00e9.\n");
  job_.echo = false;
  EXPECT_EQ(written(true, push), "e\u00e9.\n");
}

TEST_F(TextLines, AreIdsWithoutTokenizer) {
  const auto push = [](TokenSink& sink) {
    for (int32_t id : {kE, kEndOfText}) sink.token(0, id);
    sink.finished(0, FinishReason::kEos);
  };
  EXPECT_EQ(written(false, push), "54,74,71,0\n");
  job_.echo = false;
  EXPECT_EQ(written(false, push), "71,0\n");
}

TEST_F(TextLines, AreWholeAndInOrderWhenPromptsTakeTurns) {
  job_.prompts = {{{kT}, "T"}, {{kH}, "h"}};
  EXPECT_EQ(written(true,
                    [](TokenSink& sink) {
                      sink.token(0, kE);
                      sink.token(1, kFirstOfE);
                      sink.token(1, kDot);
                      sink.finished(1, FinishReason::kLength);
                      sink.token(0, kFirstOfE);
                      sink.finished(0, FinishReason::kLength);
                    }),
            "Te\uFFFD\nh\uFFFD.\n");
}

TEST_F(TextLines, AnInterruptedTextIsABeginningOfTheWhole) {
  EXPECT_EQ(written(true,
                    [](TokenSink& sink) {
                      sink.token(0, kE);
                      sink.finished(0, FinishReason::kInterrupted);
                    }),
            "The");
}

}  // namespace
}  // namespace tp
