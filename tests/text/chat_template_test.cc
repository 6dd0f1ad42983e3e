// Chat templates: the goldens of transformers, and Jinja itself against what Python's jinja2 3.1 gives.
#include "runtime/chat_template.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/tokenizer.h"
#include "tests/text/rendered.h"

namespace tp {
namespace {

namespace fs = std::filesystem;

std::string rendered(const std::string& text) {
  return rendered_as("chat_template.jinja", text);
}

std::string error_of(const std::string& text) {
  return error_as("chat_template.jinja", text);
}

TEST(Jinja, EvaluatesAsPythonDoes) {
  const Case cases[] = {
      {"{{ 7//2 }} {{ -7//2 }} {{ 7/2 }} {{ -7%3 }} {{ 2**10 }} {{ 10/2 }} {{ 1e20 }}", "3 -4 3.5 2 1024 5.0 1e+20"},
      {"{{ [1,'a',none,true,1.5,{'a':\"b'c\"}] }}", "[1, 'a', None, True, 1.5, {'a': \"b'c\"}]"},
      {"{{ 'a' ~ 1 ~ none ~ missing }}", "a1None"},
      {"{{ 'abc'[::-1] }}{{ 'abc'[-2:] }}{{ [1,2,3][1:] }}", "cbabc[2, 3]"},
      {"{{ ('a','b') }} {{ (1,) }}", "('a', 'b') (1,)"},
      {"{{ 1 < 2 < 3 }} {{ not 1 == 2 }} {{ 1 if x else 2 }}", "True True 2"},
      {"{{ true and 'x' or 'y' }} {{ none or 3 }} {{ true == 1 }}", "x 3 True"},
      {"{{ 'é\\u00e9\\n' }}", "éé\n"},
      {"{{ '%s-%d' % ('a', 3) }} {{ 'it''s' }}", "a-3 its"},
      {"{{ 0.1+0.2 }} {{ 1e-5 }} {{ 1e16 }}", "0.30000000000000004 1e-05 1e+16"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(Jinja, HasTheStatementsOfPublishedTemplates) {
  const Case cases[] = {
      {"{% for k,v in {'a':1,'b':2}.items() %}{{k}}={{v}}{% if not loop.last %},{% endif %}{% endfor %}", "a=1,b=2"},
      {"{% for i in [1,2,3,4] if i is even %}{{ loop.index }}/{{ loop.length }}:{{ i }} {% else %}none{% endfor %}",
       "1/2:2 2/2:4 "},
      {"{% for i in [1,2,3,4] %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor "
       "%}",
       "13"},
      {"{% set x=0 %}{% for i in [1,2,3] %}{{ x }}{% set x = x+i %}{{x}};{% endfor %}|{{x}}", "01;02;03;|0"},
      {"{% set ns = namespace(a=1) %}{% for i in [1,2] %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}", "4"},
      {"{% macro m(a,b=2) %}{{a}}{{b}}{{x}}{% endmacro %}{% set x=5 %}{{m(1)}}{{m(1,b=3)}}", "125135"},
      {"{% macro m() %}<{{ caller('u') }}>{% endmacro %}{% call(x) m() %}{{ x }}!{% endcall %}", "<u!>"},
      {"{% set a %}hi {{ 1 }}{% endset %}[{{ a }}]{% set b|upper %}hi{% endset %}{{ b }}", "[hi 1]HI"},
      {"{% filter upper %}a{{ 'b' }}{% endfilter %}{% with a=1, b=2 %}{{ a + b }}{% endwith %}", "AB3"},
      {"{% generation %}x{% endgeneration %}{% raw %}{{ y }}{% endraw %}{# z #}", "x{{ y }}"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(Jinja, TrimsBlocksAsTransformersSetsIt) {
  const Case cases[] = {
      {"  {% if true %}\n  a\n  {% endif %}\nb\n\n", "  a\nb\n"},
      {"{{- 'x' -}}  \n  {{ 'y' }}", "xy"},
      {"{{ 3 }}\n{# c #}\nx", "3\nx"},
      {"a \n {%- if true -%} \n b {%- endif %}", "ab"},
      {"  {%+ if true %}x{% endif +%}\ny", "  x\ny"},
      {"{% raw %}\n {{x}} {% endraw %}\nz", "\n {{x}} z"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(Jinja, HasTheFiltersTestsAndMethodsOfPublishedTemplates) {
  const Case cases[] = {
      {"{{ {'a':[1,none,'<é>']}|tojson(indent=2) }}", "{\n  \"a\": [\n    1,\n    null,\n    \"<é>\"\n  ]\n}"},
      {"{{ [{'a':1},{'a':2}]|map(attribute='a')|list }}{{ [{'a':1},{'a':2}]|selectattr('a','equalto',2)|list }}",
       "[1, 2][{'a': 2}]"},
      {"{{ x|default('d') }} {{ ''|default('d',true) }} {{ none|default('d') }}", "d d None"},
      {"{{ {'b':1,'a':2}|dictsort }} {{ {'b':1}|items|list }} {{ [3,1,2]|sort|join(',') }}",
       "[('a', 2), ('b', 1)] [('b', 1)] 1,2,3"},
      {"{{ '5'|int + 1 }} {{ 2.567|round(1) }} {{ 5|string + 'x' }} {{ 'hello world'|title }}", "6 2.6 5x Hello World"},
      {"{{ 'a,b'.split(',') }} {{ ' a '.strip() }}| {{ 'aXb'.split('X')[-1].lstrip('b') }}|", "['a', 'b'] a| |"},
      {"{{ {'a':1}.get('b','z') }} {{ {'a':1}.keys()|list }} {{ 'x'.startswith(('x','y')) }}", "z ['a'] True"},
      {"{{ [] is iterable }} {{ {} is mapping }} {{ 1 is in [1] }} {{ x is not defined }} {{ 4 is divisibleby 2 }}",
       "True True True True True"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(Jinja, LoopsMayGoDownIntoTheirItems) {
  const char* tree = "{% set tree = [{'n':'a','c':[{'n':'b','c':[]},{'n':'c','c':[{'n':'d','c':[]}]}]},{'n':'e','c':[]}] %}";
  EXPECT_EQ(rendered(std::string(tree) +
                     "{% for x in tree recursive %}{{ loop.depth }}{{ x.n }}{% if x.c %}({{ loop(x.c) }}){% endif %}"
                     "{% if not loop.last %},{% endif %}{% endfor %}"),
            "1a(2b,2c(3d)),1e");
  EXPECT_EQ(error_of("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"),
            "chat_template.jinja:1:36: loops call each other too deep");
  EXPECT_EQ(error_of("{% for x in [1] %}{{ loop([1]) }}{% endfor %}"),
            "chat_template.jinja:1:26: 'Namespace object' is not callable");
}

TEST(Jinja, TellsWhereATemplateIsWrong) {
  EXPECT_EQ(error_of("a\n{% include 'x' %}"), "chat_template.jinja:2:4: the statement `include` is not supported");
  EXPECT_EQ(error_of("{{ 'x'|nofilter }}"), "chat_template.jinja:1:8: No filter named 'nofilter'.");
  EXPECT_EQ(error_of("{{ x.y }}"), "chat_template.jinja:1:5: 'x' is undefined");
  EXPECT_EQ(error_of("{{ raise_exception('Roles must alternate') }}"), "chat_template.jinja:1:19: Roles must alternate");
  EXPECT_EQ(error_of("{% if x %}"), "chat_template.jinja:1:11: unexpected end of template, expected `{% endif %}`");
  EXPECT_EQ(error_of("{{ 'a' + 1 }}"), "chat_template.jinja:1:8: can only concatenate str (not \"int\") to str");
  EXPECT_EQ(error_of("{{ [1].append(2) }}"),
            "chat_template.jinja:1:14: access to attribute 'append' of 'list' object is unsafe.");
}

TEST(Jinja, IsBounded) {
  EXPECT_EQ(error_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
            "chat_template.jinja:1:20: macros call each other too deep");
  EXPECT_EQ(error_of("{{ 'a' * 1000000000 }}"), "chat_template.jinja:1:8: the text is too long");
  EXPECT_THAT(error_of("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}"),
              testing::HasSubstr("nested too deep"));
  EXPECT_THAT(error_of("{{ range(1000000) }}"), testing::HasSubstr("Range too big"));
}

TEST(ChatTemplate, GivesReasoningUnderAllItsNames) {
  const OrderedJson messages = OrderedJson::parse(R"([{"role":"assistant","reasoning":"r","content":"c"}])");
  EXPECT_EQ(render_chat("{{ messages[0].thinking }}{{ messages[0].reasoning_content }}", "t", messages, nullptr, false, {}),
            "rr");
  const OrderedJson own = OrderedJson::parse(R"([{"role":"assistant","content":"c","thinking":"t"}])");
  EXPECT_EQ(render_chat("{{ messages[0] }}", "t", own, nullptr, false, {}),
            "{'thinking': 't', 'role': 'assistant', 'content': 'c', 'reasoning_content': 't'}");
}

// transformers drops such keys; clients send `"content": null` beside tool calls.
TEST(ChatTemplate, KeysThatAreNullAreNotThere) {
  const OrderedJson messages = OrderedJson::parse(R"([{"role":"assistant","content":null,"tool_calls":null,"thinking":null}])");
  EXPECT_EQ(render_chat("{{ messages[0] }} {{ messages[0].content is defined }} {{ 'tool_calls' in messages[0] }}", "t",
                        messages, nullptr, false, {}),
            "{'role': 'assistant'} False False");
}

TEST(ChatTemplate, MatchesTransformersOnTheGoldens) {
  const fs::path root = fs::path(TPRUN_SOURCE_DIR).parent_path() / "shared/goldens/chat";
  if (!fs::exists(root)) GTEST_SKIP() << "the goldens are not here";
  for (const auto& entry : fs::directory_iterator(root)) {
    const fs::path dir = entry.path();
    std::ifstream file(dir / "chat_template.jinja");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const OrderedJson golden = OrderedJson::parse(std::ifstream(dir / "golden.json"));
    const auto tokenizer = Tokenizer::load(dir);
    for (const OrderedJson& row : golden["cases"]) {
      SCOPED_TRACE(dir.filename().string() + row["messages"].dump());
      OrderedJson extra = OrderedJson::object();
      for (const char* key : {"bos_token", "eos_token"}) {
        if (!golden[key].is_null()) extra[key] = golden[key];
      }
      if (row.contains("enable_thinking")) extra["enable_thinking"] = row["enable_thinking"];
      const auto render = [&] {
        return render_chat(text, "t", row["messages"], row.value("tools", OrderedJson()), row["add_generation_prompt"], extra);
      };
      if (row.contains("error")) {
        EXPECT_THROW(render(), Error);
        continue;
      }
      EXPECT_EQ(render(), row["rendered"]);
      EXPECT_EQ(tokenizer->encode(render(), false), row["ids"].get<std::vector<int32_t>>());
    }
  }
}

}  // namespace
}  // namespace tp
