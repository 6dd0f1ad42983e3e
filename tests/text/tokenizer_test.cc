#include "runtime/tokenizer.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "sharding/error.h"

namespace tp {
namespace {

namespace fs = std::filesystem;

fs::path small(const std::string& name) {
  return fs::path(TPRUN_SOURCE_DIR) / "tests/text/tokenizers" / name / "tokenizer.json";
}

// A file that is gone with the test.
class TokenizerFile {
 public:
  explicit TokenizerFile(const std::string& content)
      : path_(fs::path(testing::TempDir()) / (std::to_string(std::random_device()()) + "_tokenizer.json")) {
    std::ofstream(path_) << content;
  }
  ~TokenizerFile() { fs::remove(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The message for a tokenizer.json with `edit` merged into a small sound one; "FILE" stands for its path.
std::string refusal(const char* edit) {
  auto json =
      nlohmann::json::parse(R"({"added_tokens":[],"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]}})");
  json.merge_patch(nlohmann::json::parse(edit));
  const TokenizerFile file(json.dump());
  try {
    Tokenizer::load(file.path());
    return "loaded";
  } catch (const Error& e) {
    std::string text = e.text();
    const size_t at = text.find(file.path().string());
    return at == std::string::npos ? text : text.replace(at, file.path().string().size(), "FILE");
  }
}

TEST(Tokenizer, NamesWhatIsNotSupported) {
  EXPECT_EQ(refusal("{}"), "loaded");
  EXPECT_EQ(refusal(R"({"normalizer":{"type":"Sequence","normalizers":[{"type":"Rot13"}]}})"),
            "FILE: normalizer.normalizers[0]: normalizer \"Rot13\" is not supported");
  EXPECT_EQ(refusal(R"({"pre_tokenizer":{"type":"UnicodeScripts"}})"),
            "FILE: pre_tokenizer: pre-tokenizer \"UnicodeScripts\" is not supported");
  EXPECT_EQ(refusal(R"({"decoder":{"type":"X"}})"), "FILE: decoder: decoder \"X\" is not supported");
  EXPECT_EQ(refusal(R"({"post_processor":{"type":"X"}})"), "FILE: post_processor: post-processor \"X\" is not supported");
  EXPECT_EQ(refusal(R"({"model":{"type":"X"}})"), "FILE: model: model \"X\" is not supported");
  EXPECT_EQ(refusal(R"({"post_processor":{"type":"Sequence","processors":[
      {"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{}},
      {"type":"Sequence","processors":[{"type":"RobertaProcessing","sep":["a",0],"cls":["b",1]}]}]}})"),
            "FILE: post_processor.processors[1]: RobertaProcessing behind a template is not supported");
}

TEST(Tokenizer, RefusesCorruptFiles) {
  EXPECT_EQ(refusal(R"({"model":{"merges":[["a","c"]]}})"), "FILE: model.merges[0]: `c` is not in the vocabulary");
  EXPECT_EQ(refusal(R"({"model":{"merges":["a b c"]}})"), "FILE: model.merges[0]: expected two tokens");
  EXPECT_EQ(refusal(R"({"model":{"vocab":{"a":-1}}})"), "FILE: model.vocab.a: -1 is not in 0..16777215");
  EXPECT_EQ(refusal(R"({"model":{"vocab":{"a":1}}})"), "FILE: model.vocab: `a` and `b` both have the id 1");
  EXPECT_EQ(refusal(R"({"model":{"vocab":{"a":99999999999}}})"), "FILE: model.vocab.a: 99999999999 is not in 0..16777215");
  EXPECT_EQ(refusal(R"({"model":{"vocab":{"a":"0"}}})"), "FILE: model.vocab.a: expected a whole number, found \"0\"");
  EXPECT_EQ(refusal(R"({"model":[]})"), "FILE: model: expected an object, found array");
  EXPECT_EQ(refusal(R"({"model":null})"), "FILE: `model` is missing");
  EXPECT_EQ(refusal(R"({"added_tokens":[{"id":1}]})"), "FILE: added_tokens[0]: `content` is missing");
  EXPECT_EQ(refusal(R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a"},"behavior":"Isolated","invert":false}})"),
            "FILE: pre_tokenizer.pattern: the regular expression cannot be used: missing closing parenthesis");
  EXPECT_EQ(refusal(R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\Q"},"behavior":"Isolated","invert":false}})"),
            "FILE: pre_tokenizer.pattern: the regular expression cannot be used: `\\Q` is not supported at offset 0");
}

TEST(Tokenizer, SaysThatAFileIsMissing) {
  try {
    Tokenizer::load("/nowhere");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.text(),
              "/nowhere: there is no such file\n  fix: give a tokenizer.json, or a directory that has one, with --tokenizer");
  }
}

TEST(Tokenizer, StreamsWhatItDecodesForAnyIds) {
  std::mt19937 random(1);
  for (const auto& entry : fs::directory_iterator(fs::path(TPRUN_SOURCE_DIR) / "tests/text/tokenizers")) {
    const auto tokenizer = Tokenizer::load(entry.path());
    for (int round = 0; round < 200; ++round) {
      std::vector<int32_t> ids(random() % 12);
      for (int32_t& id : ids) id = static_cast<int32_t>(random() % (tokenizer->vocab_size() + 5)) - 2;
      const auto stream = tokenizer->stream(round % 2 == 0);
      std::string text;
      for (const int32_t id : ids) text += stream->push(id);
      text += stream->finish();
      ASSERT_EQ(text, tokenizer->decode(ids, round % 2 == 0)) << entry.path() << testing::PrintToString(ids);
    }
  }
}

TEST(Tokenizer, HoldsBackHalfACharacter) {
  const auto tokenizer = Tokenizer::load(small("byte_level"));
  const std::vector<int32_t> ids = tokenizer->encode("\U0001F680", false);
  ASSERT_GE(ids.size(), 2u);  // a character in several tokens
  const auto stream = tokenizer->stream(true);
  for (size_t i = 0; i + 1 < ids.size(); ++i) EXPECT_EQ(stream->push(ids[i]), "");
  EXPECT_EQ(stream->push(ids.back()), "\U0001F680");
  EXPECT_EQ(stream->push(ids[0]), "");
  EXPECT_EQ(stream->finish(), "\uFFFD");
}

TEST(Tokenizer, TakesBrokenUtf8AsReplacementCharacters) {
  const auto tokenizer = Tokenizer::load(small("byte_level"));
  EXPECT_EQ(tokenizer->encode("a\xF0\x9F"
                              "b\xFF",
                              false),
            tokenizer->encode("a\uFFFDb\uFFFD", false));
}

TEST(Tokenizer, EncodesLongRunsOfOneCharacter) {
  for (const char* name : {"byte_level", "sentencepiece", "unigram", "word_piece"}) {
    const auto tokenizer = Tokenizer::load(small(name));
    for (const char* unit : {"a", " ", "\n", "1", "ab"}) {
      std::string text;
      while (text.size() < 100'000) text += unit;
      EXPECT_LE(tokenizer->encode(text, false).size(), 100'001u) << name << unit;
    }
  }
}

}  // namespace
}  // namespace tp
