#include "sharding/json_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharding/error.h"

namespace tp {
namespace {

std::string refusal(const std::string& text, const JsonLimits& limits = {}) {
  try {
    parse_json(text, "a.json", limits);
  } catch (const Error& error) {
    return error.text();
  }
  return "accepted";
}

TEST(JsonDocument, ParsesEveryKindOfValue) {
  const Json json = parse_json(R"({"a": [1, -2, 2.5, true, null, "x\u00e9"], "b": {"a": {}}})", "a.json");
  EXPECT_EQ(json.dump(), R"({"a":[1,-2,2.5,true,null,"xé"],"b":{"a":{}}})");
}

TEST(JsonDocument, RefusesDuplicateKeysWithTheirPlace) {
  EXPECT_EQ(refusal("{\n  \"a\": 1,\n  \"a\": 2}"),
            "a.json:3:3: duplicate key `a`\n  fix: correct it there, or get the file again");
  EXPECT_EQ(refusal("{\"x\": {\"a\": 1, \"b\": 2, \"a\": 1}}"),
            "a.json:1:24: duplicate key `a`\n  fix: correct it there, or get the file again");
  EXPECT_EQ(refusal(R"({"a\"b": 1, "a\"b": 2})"),
            "a.json:1:13: duplicate key `a\"b`\n  fix: correct it there, or get the file again");
  EXPECT_EQ(refusal("{\"x\": {\"a\": 1}, \"y\": {\"a\": 1}}"), "accepted");
}

TEST(JsonDocument, RefusesDeepNesting) {
  EXPECT_EQ(refusal(std::string(100000, '[')),
            "a.json:1:65: nested more than 64 deep\n  fix: correct it there, or get the file again");
  EXPECT_EQ(refusal(std::string(64, '[') + std::string(64, ']')), "accepted");
}

TEST(JsonDocument, RefusesTooManyValues) {
  EXPECT_EQ(refusal("[1, 2, 3]", {.values = 3}),
            "a.json:1:9: more than 3 values\n  fix: correct it there, or get the file again");
}

TEST(JsonDocument, TellsWhereSyntaxIsWrong) {
  EXPECT_EQ(refusal("{\n\"a\": nul}"),
            "a.json:2:9: not valid JSON: syntax error while parsing value - invalid literal; last read: '\"a\": nul}'\n  fix: "
            "correct it there, or get the file again");
  EXPECT_THAT(refusal(""), testing::StartsWith("a.json:1:1: not valid JSON: "));
  EXPECT_THAT(refusal("{} x"), testing::StartsWith("a.json:1:4: not valid JSON: "));
  EXPECT_THAT(refusal("[1e999]"), testing::HasSubstr("number overflow"));
  EXPECT_THAT(refusal("\"\xff\""), testing::HasSubstr("ill-formed UTF-8"));
}

TEST(JsonDocument, RefusesAFileThatIsNotThere) {
  try {
    read_json_file("/nonexistent/config.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), "/nonexistent/config.json: no such file\n  fix: name a file that is there");
  }
}

}  // namespace
}  // namespace tp
