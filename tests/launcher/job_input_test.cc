#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/generation_settings.h"
#include "launcher/jsonl_file.h"
#include "launcher/prompts.h"
#include "launcher/resume.h"
#include "sharding/error.h"

namespace tp {
namespace {

using ::testing::ElementsAre;

// A directory of the running test alone: tests run side by side.
std::string own_dir() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string dir = ::testing::TempDir() + "job_input_" + test->name() + "/";
  std::filesystem::create_directories(dir);
  return dir;
}

std::string write_file(const std::string& name, const std::string& content) {
  const std::string path = own_dir() + name;
  std::ofstream(path) << content;
  return path;
}

std::vector<JobPrompt> prompts(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"generate"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const ChatPrompt chat("/nowhere", "", "");
  GenerationSettings settings;
  settings.prompt.sampling.seed = 3;
  return read_prompts(parse_options(all), {nullptr, chat, 100, settings, 40, false});
}

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    prompts(arguments);
  } catch (const Error& error) {
    return error.text();
  }
  return "accepted";
}

TEST(Prompts, AreIdsOfTheOption) {
  const auto read = prompts({"--ids", "1, 2,99"});
  ASSERT_EQ(read.size(), 1U);
  EXPECT_THAT(read[0].ids, ElementsAre(1, 2, 99));
  EXPECT_EQ(read[0].text, "");
  EXPECT_EQ(refusal({"--ids", "1,2,100"}), "--ids: token id 100 is outside the vocabulary of 100\n  fix: ids are 0 to 99");
  EXPECT_EQ(refusal({"--ids=-1"}), "--ids: token id -1 is outside the vocabulary of 100\n  fix: ids are 0 to 99");
  EXPECT_EQ(refusal({"--ids", "1,,2"}), "--ids: `` is not a token id\n  fix: --ids 1,2,3");
}

TEST(Prompts, ComeFromExactlyOneSource) {
  EXPECT_EQ(refusal({}), "generate: no prompt\n  fix: give one of --prompt, --prompt-file, --input, --ids");
  EXPECT_EQ(refusal({"--prompt", "a", "--ids", "1"}), "--prompt: and --ids are both given\n  fix: keep one of them");
}

TEST(Prompts, OfTextNeedATokenizer) {
  EXPECT_EQ(
      refusal({"--prompt", "a"}),
      "--prompt: a text needs a tokenizer, and the model directory has no tokenizer.json\n  fix: --tokenizer DIR|FILE, or ids");
}

TEST(Prompts, OfAFileMayBoundTheirLength) {
  const auto read = prompts({"--input", write_file("good.jsonl", "{\"ids\":[1,2]}\n\n{\"ids\":[3],\"max_new_tokens\":5}\n")});
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].max_new_tokens, std::nullopt);
  EXPECT_EQ(read[1].max_new_tokens, 5);
}

TEST(Prompts, OfAFileAreRefusedAllAtOnceWithLineNumbers) {
  const std::string path =
      write_file("bad.jsonl",
                 "{\"ids\":[1]}\nnot json\n{\"ids\":[]}\n[1]\n{\"ids\":[1000]}\n{\"idz\":[1]}\n"
                 "{\"ids\":[1],\"max_new_tokens\":0}\n{\"ids\":[1],\"prompt\":\"x\"}\n{\"messages\":[]}\n");
  const std::string text = refusal({"--input", path});
  EXPECT_THAT(text, ::testing::HasSubstr(path + ": 8 bad lines\n  line 2: column 2: not valid JSON"));
  EXPECT_THAT(text, ::testing::HasSubstr("\n  line 3: has no token\n  line 4: is not a JSON object\n"
                                         "  line 5: token id 1000 is outside the vocabulary of 100\n"
                                         "  line 6: unknown key `idz`; did you mean `ids`?\n"
                                         "  line 7: `max_new_tokens`: 0 is not a whole number, 1 or more\n"
                                         "  line 8: has both `prompt` and `ids`\n"
                                         "  line 9: `messages` is not a list of messages\n"
                                         "  fix: mend these lines; nothing was started"));
  std::string many;
  for (int line = 1; line <= 30; ++line) many += line == 25 || line == 3 ? "{\"ids\":[1]}\n" : "{\"ids\":[]}\n";
  EXPECT_THAT(refusal({"--input", write_file("many.jsonl", many)}),
              ::testing::HasSubstr("\n  line 21: has no token\n  and lines 22-24, 26-30\n  fix: mend these lines"));
  EXPECT_EQ(refusal({"--input", write_file("empty.jsonl", "\n")}),
            own_dir() + "empty.jsonl: has no line\n  fix: one JSON object per line");
}

TEST(Prompts, OfAFileMayOverrideHowTheyAreContinued) {
  const auto read =
      prompts({"--input",
               write_file("own.jsonl",
                          "{\"ids\":[1]}\n"
                          R"({"ids":[2],"do_sample":true,"temperature":0.5,"top_k":3,"logit_bias":{"7":-2},"logprobs":1,"n":2})"
                          "\n"
                          R"({"ids":[3],"seed":9,"no_repeat_ngram_size":2,"ignore_eos":true,"presence_penalty":null})"
                          "\n")});
  ASSERT_EQ(read.size(), 4U);
  EXPECT_FALSE(read[0].options.has_value());
  EXPECT_EQ(read[0].sample, std::nullopt);
  for (int64_t sample : {0, 1}) {
    const JobPrompt& prompt = read[static_cast<size_t>(1 + sample)];
    EXPECT_EQ(prompt.index, 1);
    EXPECT_EQ(prompt.sample, sample);
    EXPECT_EQ(prompt.random_stream, 1 + (static_cast<uint64_t>(sample) << 32));
    EXPECT_TRUE(prompt.options->sampling.do_sample);
    EXPECT_EQ(prompt.options->sampling.temperature, 0.5);
    EXPECT_EQ(prompt.options->sampling.top_k, 3);
    EXPECT_THAT(prompt.options->sampling.logit_bias, ElementsAre(std::pair(7, -2.0)));
    EXPECT_EQ(prompt.options->sampling.seed, 3U);
    EXPECT_EQ(prompt.options->top_logprobs, 1);
  }
  EXPECT_EQ(read[3].index, 2);
  EXPECT_EQ(read[3].random_stream, 0U);  // as when it is the only line
  EXPECT_EQ(read[3].options->sampling.seed, 9U);
  EXPECT_EQ(read[3].options->sampling.no_repeat_ngram_size, 2);
  EXPECT_TRUE(read[3].options->ignore_eos);
}

TEST(Prompts, OfMessagesGiveTheTemplateToolsInTheirOrder) {
  const ChatPrompt chat("/nowhere", write_file("tools.jinja", "{{ tools | tojson }}{{ thinking }}{{ add_generation_prompt }}"),
                        "");
  const GenerationSettings settings;
  const auto read = read_prompts(
      parse_options({"generate", "--input",
                     write_file("tools.jsonl", R"({"messages":[{"role":"user","content":"x"}],"tools":[{"z":1,"a":[2]}],)"
                                               R"("add_generation_prompt":false,"chat_template_kwargs":{"thinking":"no"}})"
                                               "\n")}),
      {Tokenizer::load(TPRUN_SOURCE_DIR "/examples/tiny"), chat, 768, settings, std::nullopt, false});
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].text, R"([{"z": 1, "a": [2]}]noFalse)");
}

TEST(Prompts, OfAFileAreRefusedForWhatTheyOverride) {
  const std::string path = write_file("bad_own.jsonl", R"({"ids":[1],"top_p":2})"
                                                       "\n"
                                                       R"({"ids":[1],"temperature":"hot"})"
                                                       "\n"
                                                       R"({"ids":[1],"n":2})"
                                                       "\n"
                                                       R"({"ids":[1],"logit_bias":{"100":1}})"
                                                       "\n"
                                                       R"({"ids":[1],"stop":"x"})"
                                                       "\n"
                                                       R"({"ids":[1,2],"max_new_tokens":39})"
                                                       "\n");
  EXPECT_EQ(refusal({"--input", path}),
            path +
                ": 6 bad lines\n"
                "  line 1: `top_p`: 2 is not more than 0, at most 1\n"
                "  line 2: `temperature`: \"hot\" is not a number\n"
                "  line 3: 2 continuations of one prompt would be the same without sampling\n"
                "  line 4: `logit_bias`: \"100\" is not a token id\n"
                "  line 5: `stop` needs a tokenizer, and the model directory has no tokenizer.json\n"
                "  line 6: needs 41 positions (2 tokens + max_new_tokens 39), the cache has 40\n"
                "  fix: mend these lines; nothing was started");
}

TEST(Prompts, ThatAreBadArePassedOverWhenAsked) {
  const auto read = prompts(
      {"--skip-bad", "--input", write_file("some_bad.jsonl", "{\"ids\":[1]}\n\nnot json\n{\"ids\":[]}\n{\"ids\":[2]}\n")});
  ASSERT_EQ(read.size(), 4U);
  EXPECT_THAT(read[1].error, ::testing::StartsWith("line 3: column 2: not valid JSON"));
  EXPECT_EQ(read[1].index, 1);
  EXPECT_EQ(read[2].error, "line 4: has no token");
  EXPECT_EQ(read[3].index, 3);
  EXPECT_EQ(read[3].error, "");
  EXPECT_THAT(read[3].ids, ElementsAre(2));
}

// The output file of the prompts [1] and [2] and a bad line, with `lines` in it.
Job begun_job(const std::string& lines) {
  Job job;
  job.prompts.resize(3);
  job.prompts[0].ids = {1};
  job.prompts[1].ids = {2};
  job.prompts[1].index = 1;
  job.prompts[2].index = 2;
  job.prompts[2].error = "line 3: bad";
  job.output = write_file("begun.jsonl", lines);
  return job;
}

TEST(Resume, KeepsWholeLinesAndDropsTheirPrompts) {
  const std::string first = R"({"index":0,"prompt_ids":[1],"ids":[5],"text":null,"finish_reason":"length"})"
                            "\n";
  const std::string second = R"({"index":1,"prompt_ids":[2],"ids":[],"text":null,"finish_reason":"eos"})"
                             "\n";
  Job job = begun_job(first + second.substr(0, second.size() - 1));
  EXPECT_EQ(keep_finished_lines(job), 1U);
  EXPECT_EQ(job.output_kept_bytes, static_cast<int64_t>(first.size()));
  ASSERT_EQ(job.prompts.size(), 2U);
  EXPECT_EQ(job.prompts[0].index, 1);
  job = begun_job(first + second + "{\"index\":2,\"error\":\"line 3: bad\"}\n");
  EXPECT_EQ(keep_finished_lines(job), 3U);
  EXPECT_TRUE(job.prompts.empty());
  job = begun_job("");
  EXPECT_EQ(keep_finished_lines(job), 0U);
  std::filesystem::remove(job.output);
  EXPECT_EQ(keep_finished_lines(job), 0U);
  EXPECT_EQ(job.prompts.size(), 3U);
}

TEST(Resume, RefusesTheOutputOfAnotherInput) {
  Job job = begun_job("{\"index\":0,\"prompt_ids\":[9],\"ids\":[],\"text\":null,\"finish_reason\":\"eos\"}\n");
  try {
    keep_finished_lines(job);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), job.output +
                                ":1: is not a line of this input's output\n  fix: give the --input and options that the "
                                "file was begun with, or another --output");
  }
}

TEST(ChatPrompt, OfSeveralTemplatesTheOneForToolsIsTakenWhenThereAreTools) {
  const std::string dir = own_dir() + "several";
  std::filesystem::remove_all(dir);  // of an earlier run
  std::filesystem::create_directories(dir + "/additional_chat_templates");
  const auto text = [&](const char* tools) {
    return ChatPrompt(dir, "", "").text({.messages = OrderedJson::parse(R"([{"role": "user", "content": "hi"}])"),
                                         .tools = OrderedJson::parse(tools)});
  };
  std::ofstream(dir + "/tokenizer_config.json")
      << R"({"chat_template": [{"name": "rag", "template": "r"}, {"name": "tool_use", "template": "t"}]})";
  EXPECT_EQ(text("[{}]"), "t");
  try {
    text("null");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(),
              "--chat: the model has no chat template that is the default; it has rag\n  fix: --chat-template FILE");
  }
  std::ofstream(dir + "/chat_template.jinja") << "usual";
  EXPECT_EQ(text("null"), "usual");
  EXPECT_EQ(text("[]"), "usual");
  std::ofstream(dir + "/additional_chat_templates/tool_use.jinja") << "tools";
  EXPECT_EQ(text("null"), "usual");
  EXPECT_EQ(text("[]"), "tools");
}

TEST(ChatPrompt, UsesTheModelsTemplateAndSpecialTokens) {
  const std::string dir = own_dir() + "chat";
  std::filesystem::create_directories(dir);
  std::ofstream(dir + "/tokenizer_config.json")
      << R"({"bos_token": {"content": "<s>"}, "chat_template": [{"name": "default", "template": "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"}]})";
  EXPECT_EQ(ChatPrompt(dir, "", "").text_of_user("hi"), "<s>[user] hi\n[assistant]");
  EXPECT_EQ(ChatPrompt(dir, "", "be short").text_of_user("hi"), "<s>[system] be short\n[user] hi\n[assistant]");
  const std::string file = write_file("own.jinja", "{{ messages[0].content }}!");
  EXPECT_EQ(ChatPrompt(dir, file, "").text_of_user("hi"), "hi!");
  EXPECT_THROW(ChatPrompt("/nowhere", "", "").text_of_user("hi"), Error);
  EXPECT_EQ(refusal({"--prompt", "x", "--system", "y"}), "--system: is for messages\n  fix: add --chat");
  EXPECT_EQ(refusal({"--ids", "1", "--chat"}), "--chat: is for texts, and the prompt is given as ids\n  fix: --prompt TEXT");
}

class SettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(own_dir());
    dir_ = own_dir();
    config_.vocab_size = 100;
  }
  void write(const std::string& name, const std::string& content) { std::ofstream(dir_ + "/" + name) << content; }
  GenerationSettings settings(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), "generate");
    return generation_settings(parse_options(arguments), dir_, config_);
  }
  std::string dir_;
  ModelConfig config_;
};

TEST_F(SettingsTest, PreferFlagsThenGenerationConfigThenConfig) {
  write("generation_config.json", R"({"temperature": 0.6, "top_k": 20, "eos_token_id": [7, 9, 1000], "do_sample": true})");
  write("config.json", R"({"temperature": 0.1, "top_p": 0.9, "eos_token_id": 3})");
  const GenerationSettings read = settings({"--top-k", "5", "--logit-bias", "4=-1.5"});
  EXPECT_EQ(read.prompt.sampling.temperature, 0.6);
  EXPECT_EQ(read.prompt.sampling.top_k, 5);
  EXPECT_EQ(read.prompt.sampling.top_p, 0.9);
  EXPECT_TRUE(read.prompt.sampling.do_sample);
  EXPECT_THAT(read.eos_token_ids, ElementsAre(7, 9));
  EXPECT_EQ(read.max_new_tokens, 20);
  EXPECT_THAT(read.shown,
              ElementsAre(std::pair("max_new_tokens", "20 (default)"), std::pair("do_sample", "true (generation_config.json)"),
                          std::pair("temperature", "0.6 (generation_config.json)"), std::pair("top_k", "5 (--top-k)"),
                          std::pair("top_p", "0.9 (config.json)"), std::pair("min_p", "0 (default)"),
                          std::pair("repetition_penalty", "1 (default)"), std::pair("presence_penalty", "0 (default)"),
                          std::pair("frequency_penalty", "0 (default)"), std::pair("no_repeat_ngram_size", "0 (default)"),
                          std::pair("logit_bias", "[[4,-1.5]] (--logit-bias)"), std::pair("seed", "0 (default)"),
                          std::pair("num_return_sequences", "1 (default)"), std::pair("logprobs", "none (default)"),
                          std::pair("eos_token_id", "[7,9] (generation_config.json)"), std::pair("stop", "[] (default)")));
}

TEST_F(SettingsTest, IgnoreTheEndOfSequenceWhenAsked) {
  write("config.json", R"({"eos_token_id": 3})");
  EXPECT_THAT(settings().eos_token_ids, ElementsAre(3));
  EXPECT_FALSE(settings().prompt.ignore_eos);
  EXPECT_TRUE(settings({"--ignore-eos"}).prompt.ignore_eos);
}

TEST_F(SettingsTest, RefuseValuesOutOfRangeWhereverTheyAre) {
  write("generation_config.json", R"({"top_p": 1.5})");
  try {
    settings();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), "generation_config.json: top_p: 1.5 is out of range\n  fix: more than 0, at most 1");
  }
  try {
    settings({"--top-p", "0.5", "--max-new-tokens", "0"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), "--max-new-tokens: 0 is out of range\n  fix: 1 or more");
  }
}

TEST_F(SettingsTest, SayWhatIsNotUsed) {
  write("generation_config.json", R"({"num_beams": 4, "no_repeat_ngram_size": 0, "transformers_version": "5"})");
  EXPECT_THAT(settings().notes, ElementsAre("generation_config.json: num_beams = 4 is not used"));
}

TEST_F(SettingsTest, SayWhatHasNoEffect) {
  EXPECT_THAT(settings({"--temperature", "0.5"}).notes, ElementsAre("--temperature has no effect without --do-sample"));
  EXPECT_THAT(settings({"--temperature", "0.5", "--do-sample"}).notes, ElementsAre());
}

TEST_F(SettingsTest, RefuseABiasThatIsNone) {
  for (const auto& [text, message] : std::map<std::string, std::string>{
           {"5", "--logit-bias: `5` is not ID=NUMBER\n  fix: --logit-bias 5=-100"},
           {"5=x", "--logit-bias: `5=x` is not ID=NUMBER\n  fix: --logit-bias 5=-100"},
           {"100=1", "--logit-bias: `logit_bias`: \"100\" is not a token id\n  fix: ids are 0 to 99"}}) {
    try {
      settings({"--logit-bias", text});
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.text(), message);
    }
  }
}

TEST_F(SettingsTest, BoundTheWholeLengthWhereTheFileDoes) {
  write("generation_config.json", R"({"max_length": 64})");
  EXPECT_EQ(settings().max_length, 64);
  EXPECT_EQ(settings({"--max-new-tokens", "3"}).max_length, std::nullopt);
}

}  // namespace
}  // namespace tp
