// Jinja against what Python's jinja2 3.1.6 gives with the settings of transformers 5.24.
#include <gmock/gmock.h>

#include "tests/text/rendered.h"

namespace tp {
namespace {

std::string rendered(const std::string& text) {
  return rendered_as("t", text);
}

std::string error_of(const std::string& text) {
  return error_as("t", text);
}

TEST(JinjaAsPython, TestsGoByTheirSigns) {
  const Case cases[] = {
      {"{{ [1,2,3]|select('>',1)|list }}{{ [{'a':1},{'a':2}]|selectattr('a','==',2)|list }}", "[2, 3][{'a': 2}]"},
      {"{{ [1,2]|reject('<=',1)|list }}{{ [1,2]|select('!=',1)|list }}{{ '==' is test }}", "[2][2]True"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, RoundsAsPythonDoes) {
  const Case cases[] = {
      {"{{ 7|round }} {{ 7|round(1) }} {{ 1.115|round(2) }} {{ 2.675|round(2) }} {{ 0.5|round }} {{ 1234.5|round(-2) }}",
       "7 7 1.11 2.67 0.0 1200.0"},
      {"{{ 2.1|round(0,'ceil') }} {{ 2.15|round(1,'floor') }}", "3.0 2.1"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, ReadsNumbersAsPythonDoes) {
  const Case cases[] = {
      {"{{ '1_000'|int }} {{ '0x1f'|int(base=16) }} {{ '0b11'|int(base=0) }} {{ '1e3'|int }} {{ 'x'|int(5) }} {{ '-7'|int }}",
       "1000 31 3 1000 5 -7"},
      {"{{ '0x1p3'|float }} {{ ' 1_0.5 '|float }} {{ 'inf'|float }}", "0.0 10.5 inf"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, IteratorsAreThereOnce) {
  const Case cases[] = {
      {"{% set m = [1,2]|map('string') %}{{ m|list }}{{ m|list }}", "['1', '2'][]"},
      {"{% if []|selectattr('x') %}yes{% endif %}{% if []|selectattr('x')|list %}no{% endif %}", "yes"},
      {"{% set m = [3,1,2]|select('odd') %}{{ m|first }}{% for x in m %}{{ x }}{{ loop.last }}{% else %}none{% endfor %}{% for "
       "x in m %}{{ x }}{% else %}none{% endfor %}",
       "31Truenone"},
      {"{{ ([1,2]|map('string'))[0] is defined }}{{ [1]|map('string') is iterable }}{{ [1]|map('string') is sequence }}{{ 1 in "
       "[1]|reverse }}",
       "FalseTrueFalseTrue"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, ViewsOfADictAreNoLists) {
  const Case cases[] = {
      {"{{ {'a':1}.keys() }}{{ {'a':1}.values() }}{{ {'a':1}.items() }}",
       "dict_keys(['a'])dict_values([1])dict_items([('a', 1)])"},
      {"{{ {'a':1}.keys()|length }}{{ {'a':1}.keys()|list }}{{ 'a' in {'a':1}.keys() }}{{ {'a':1}.keys() is sequence }}{{ "
       "{}.keys() or 'none' }}",
       "1['a']TrueFalsenone"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, GroupsHaveNames) {
  const Case cases[] = {
      {"{% for g in [{'r':'u','v':1},{'r':'A','v':2},{'v':3}]|groupby('r',default='q') %}{{ g.grouper }}:{{ g.list|length }}{{ "
       "g[0] }} {% endfor %}",
       "A:1A q:1q u:1u "},
      {"{% for k, l in [{'r':'b'},{'r':'B'},{'r':'a'}]|groupby('r',case_sensitive=true) %}{{ k }}{{ l|length }}{% endfor %}",
       "B1a1b1"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, FormatsAsPythonDoes) {
  const Case cases[] = {
      {"{{ '%5s|%-5s|%05d|%.2f|%x|%X|%o|%e|%g|%c|%i|%r|%%'|format('a','b',3,1.5,255,255,8,12345.678,0.0001,'q',4,'z') }}",
       "    a|b    |00003|1.50|ff|FF|10|1.234568e+04|0.0001|q|4|'z'|%"},
      {"{{ '%(a)s-%(b)03d' % {'a':1,'b':2} }} {{ '%.3s|' % 'abcdef' }} {{ '%*d' % (5, 3) }} {{ '%(x)s'|format(x=1) }} {{ '%+d' "
       "% 3 }}",
       "1-002 abc|     3 1 +3"},
      {"{{ '{} {}'.format(1,'a') }} {{ '{0}{1}{0}'.format(1,'a') }} {{ '{a[k]}'.format(a={'k':5}) }} {{ '{{}}'.format() }}",
       "1 a 1a1 5 {}"},
      {"{{ '{:>5}|{:*<5}|{:^5}'.format('a','b','c') }} {{ '{:05.2f} {:,} {:x} {:+d} {:.1%} "
       "{:08b}'.format(3.14159,1234567,255,4,0.256,5) }} {{ '{!r}'.format('a') }}",
       "    a|b****|  c   03.14 1,234,567 ff +4 25.6% 00000101 'a'"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, HasTheMethodsOfStrings) {
  const Case cases[] = {
      {"{{ 'Hello'.swapcase() }} {{ 'Hello'.find('l',3) }} {{ 'Hello'.rfind('l',0,3) }} {{ 'Hello'.count('l',3) }} {{ "
       "'Hello'.startswith('l',2) }} {{ 'Hello'.endswith('l',0,-1) }}",
       "hELLO 3 2 1 True True"},
      {"{{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'x'.partition('=') }}",
       "('a', '=', 'b=c') ('a=b', '=', 'c') ('x', '', '')"},
      {"{{ 'ab'.center(5,'*') }}|{{ 'ab'.center(4) }}|{{ 'abc'.center(6) }}|{{ 'ab'.ljust(4,'.') }}|{{ 'ab'.rjust(4) }}|{{ "
       "'-7'.zfill(4) }}|{{ 'a\\tb'.expandtabs(4) }}",
       "**ab*| ab | abc  |ab..|  ab|-007|a   b"},
      {"{{ '½'.isdigit() }}{{ '²'.isdigit() }}{{ '²'.isdecimal() }}{{ '½'.isnumeric() }}{{ 'Ab Cd'.istitle() }}{{ "
       "'é'.isascii() }}{{ 'Hello'.rindex('l') }}",
       "FalseTrueFalseTrueTrueFalse3"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, HasTheFiltersOfTexts) {
  const Case cases[] = {
      {"{{ \"they're bill's-x (y\"|title }} {{ 'a-b c'|wordcount }} {{ 'ab'|center(5) }}|", "They're Bill's-X (Y 3   ab |"},
      {"{{ 'one two three'|truncate(9) }}|{{ 'one two three'|truncate(9,true,'..',0) }}|{{ 'one two'|truncate(5) }}",
       "one two three|one two..|one two"},
      {"{{ [1,2,3,4,5]|slice(2)|list }} {{ [1,2,3]|slice(2,'x')|list }} {{ 'aba'|replace('a',1) }} {{ "
       "[{'a':2,'b':1},{'a':1,'b':2},{'a':1,'b':1}]|sort(attribute='a,b')|map(attribute='b')|join }}",
       "[[1, 2, 3], [4, 5]] [[1, 2], [3, 'x']] 1b1 121"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, MacrosTakeWhatTheyAskFor) {
  const Case cases[] = {
      {"{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1,2,b=3) }}{{ m(1) }}", "1(2,){'b': 3}1(){}"},
      {"{% macro m() %}{{ caller(*varargs) }}{% endmacro %}{% call(a,b) m(1,2) %}{{ a }}+{{ b }}{% endcall %}", "1+2"},
      {"{% macro m(a,b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1,2]) }}{{ m(**{'a':1,'b':2}) }}{{ m(1, *[2]) }}{{ m(1, "
       "**{'b':5}) }}{{ [1,2]|join(*['-']) }}",
       "121212151-2"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, BlocksAreShownWhereTheyStand) {
  const Case cases[] = {
      {"{% set q = 1 %}{% block a %}x{{ q }}{% set q = 2 %}{% block b %}y{% endblock %}{% endblock a %}{{ q }}", "x1y1"},
      {"{% for i in [1,2] %}{% block a %}[{{ i }}]{% endblock %}{% block b scoped %}{{ i }}{% endblock %}{% endfor %}",
       "[]1[]2"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, CountsOnlyRecursiveLoopsAsDeep) {
  const Case cases[] = {
      {"{% for i in [1] %}{% for j in [1] %}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}{% endfor %}", "10"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, HasTheGlobalsOfJinja) {
  const Case cases[] = {
      {"{% set c = cycler('a','b') %}{{ c.current }}{% for i in [1,2,3] %}{{ c.next() }}{{ c.current }}{% endfor %}{{ "
       "c.reset() }}{{ c.next() }}",
       "aabbaabNonea"},
      {"{% set j = joiner(', ') %}{% for i in [1,2,3] %}{{ j() }}{{ i }}{% endfor %}", "1, 2, 3"},
      {"{{ dict([('a',1),['b',2]]) }}{{ dict({'a':1},b=2) }}{% print 1, 'x' %}", "{'a': 1, 'b': 2}{'a': 1, 'b': 2}1x"},
  };
  for (const Case& c : cases) EXPECT_EQ(rendered(c.text), c.expected) << c.text;
}

TEST(JinjaAsPython, RefusesWhatPythonRefuses) {
  const Case cases[] = {
      {"{{ [1]|map('string')|length }}", "t:1:22: object of type 'generator' has no len()"},
      {"{{ [1]|map('string')|tojson }}", "t:1:22: Object of type generator is not JSON serializable"},
      {"{{ [1]|select('odd')|last }}", "t:1:22: 'generator' object is not reversible"},
      {"{{ {'a':1}.keys()|tojson }}", "t:1:19: Object of type dict_keys is not JSON serializable"},
      {"{{ x|int }}", "t:1:6: 'x' is undefined"},
      {"{{ ['a','b']|sum(start='') }}", "t:1:14: sum() can't sum strings [use ''.join(seq) instead]"},
      {"{% macro m() %}{% endmacro %}{{ m(1) }}", "t:1:34: macro 'm' takes not more than 0 argument(s)"},
      {"{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}", "t:1:35: macro 'm' takes no keyword argument 'a'"},
      {"{% macro m() %}{% endmacro %}{% call m() %}{% endcall %}",
       "t:1:33: macro 'm' was invoked with two values for the special caller argument."},
      {"{% macro m(a, a) %}{% endmacro %}", "t:1:16: duplicate argument 'a' in a macro"},
      {"{% block a %}{% endblock %}{% block a %}{% endblock %}", "t:1:31: block 'a' defined twice"},
      {"{{ range(1,2,3,4) }}", "t:1:9: range expected at most 3 arguments, got 4"},
      {"{{ '%d' % 'x' }}", "t:1:9: %d format: a real number is required, not str"},
      {"{{ '{:d}'.format('x') }}", "t:1:17: Unknown format code 'd' for object of type 'str'"},
      {"{{ '{}'.format() }}", "t:1:15: Replacement index 0 out of range"},
  };
  for (const Case& c : cases) EXPECT_EQ(error_of(c.text), c.expected) << c.text;
}

TEST(ChatTemplate, RefusesNumbersThatItWouldChange) {
  const OrderedJson messages = OrderedJson::parse(R"([{"role":"user","content":"c","id":12345678901234567890}])");
  try {
    render_chat("{{ messages[0].id }}", "t", messages, nullptr, false, OrderedJson::object());
    FAIL() << "rendered";
  } catch (const Error& e) {
    EXPECT_EQ(e.text(), "messages: 12345678901234567890 is too large a number");
  }
}

}  // namespace
}  // namespace tp
