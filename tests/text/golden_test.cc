// Every tokenizer of the goldens against what `tokenizers` 0.23 gave for it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/tokenizer.h"

namespace tp {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

// Folders with a tokenizer.json and its golden.json: ours and, where they are, the shared ones.
std::vector<fs::path> cases() {
  std::vector<fs::path> found;
  const fs::path source = TPRUN_SOURCE_DIR;
  for (const fs::path& root : {source / "tests/text/tokenizers", source.parent_path() / "shared/goldens/tokenizers"}) {
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::directory_iterator(root)) {
      if (fs::exists(entry.path() / "golden.json")) found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string streamed(const Tokenizer& tokenizer, const Ids& ids, bool skip_special) {
  const auto stream = tokenizer.stream(skip_special);
  std::string text;
  for (const int32_t id : ids) text += stream->push(id);
  return text + stream->finish();
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, MatchesTheReference) {
  const auto tokenizer = Tokenizer::load(GetParam());
  const Json golden = Json::parse(std::ifstream(GetParam() / "golden.json"));
  for (const Json& row : golden.at("strings")) {
    const auto text = row.at("text").get<std::string>();
    SCOPED_TRACE(row.at("text").dump());
    EXPECT_EQ(tokenizer->encode(text, false), row.at("ids").get<Ids>());
    const auto ids = row.at("ids_special").get<Ids>();
    EXPECT_EQ(tokenizer->encode(text, true), ids);
    EXPECT_EQ(tokenizer->decode(ids, false), row.at("decode"));
    EXPECT_EQ(tokenizer->decode(ids, true), row.at("decode_skip"));
    EXPECT_EQ(streamed(*tokenizer, ids, false), row.at("decode"));
    EXPECT_EQ(streamed(*tokenizer, ids, true), row.at("decode_skip"));
  }
  for (const Json& row : golden.at("decode_ids")) {
    const auto ids = row.at("ids").get<Ids>();
    SCOPED_TRACE(row.at("ids").dump());
    EXPECT_EQ(tokenizer->decode(ids, false), row.at("decode"));
    EXPECT_EQ(tokenizer->decode(ids, true), row.at("decode_skip"));
    EXPECT_EQ(streamed(*tokenizer, ids, false), row.at("decode"));
    EXPECT_EQ(streamed(*tokenizer, ids, true), row.at("decode_skip"));
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Golden, testing::ValuesIn(cases()), [](const auto& tested) {
  return tested.param.filename().string() + "_" + std::to_string(tested.index);
});

}  // namespace
}  // namespace tp
