#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/jinja/value.h"

namespace tp::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr all_positional, all_named;  // *list and **dict, null = none
};

enum class ExpressionKind {
  kConstant,   // value
  kName,       // name
  kList,       // parts
  kTuple,      // parts
  kDict,       // parts: key, value, key, value, …
  kUnary,      // name: - + not; parts[0]
  kBinary,     // name: + - * / // % ** ~ and or; parts[0], parts[1]
  kCompare,    // parts[0], then names[i] (== … in, not in) with parts[i + 1]
  kCondition,  // parts: then, condition, otherwise (may be null)
  kAttribute,  // parts[0].name
  kItem,       // parts[0][parts[1]]
  kSlice,      // parts[0][parts[1]:parts[2]:parts[3]], each of the last three may be null
  kCall,       // parts[0](arguments)
  kFilter,     // parts[0] | name(arguments); parts[0] is null in `{% filter %}` and block sets
  kTest,       // parts[0] is name(arguments)
};

struct Expression {
  ExpressionKind kind;
  Position at;
  Value value;
  std::string name;
  std::vector<std::string> names;
  std::vector<ExpressionPtr> parts;
  CallArguments arguments;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

// What a value is assigned to: a name, name.attribute (a namespace), or several of them.
struct Target {
  std::string name;
  std::string attribute;
  std::vector<Target> parts;
};

struct Parameter {
  std::string name;
  ExpressionPtr otherwise;  // null = none
};

enum class StatementKind {
  kText,         // text
  kPrint,        // expression
  kIf,           // conditions[i] with bodies[i]; one body more for else
  kFor,          // target in expression [if condition] [recursive]; bodies[0], bodies[1] = else
  kSet,          // target = expression
  kSetBlock,     // target = bodies[0], through the filters of `expression` (may be null)
  kMacro,        // name(parameters), bodies[0]
  kCallBlock,    // expression (a call), parameters of caller(), bodies[0]
  kFilterBlock,  // bodies[0] through the filters of `expression`
  kWith,         // sets, bodies[0]
  kScope,        // bodies[0] in a scope of its own: generation
  kBlock,        // bodies[0], which sees what is set outside of loops alone unless it is `scoped`
  kBreak,
  kContinue,
};

struct Statement {
  StatementKind kind;
  Position at;
  std::string text;
  Target target;
  ExpressionPtr expression;
  ExpressionPtr condition;
  std::vector<ExpressionPtr> conditions;
  std::vector<Parameter> parameters;
  std::vector<std::pair<Target, ExpressionPtr>> sets;
  std::vector<Body> bodies;
  bool recursive = false;
  bool scoped = false;
  // Macros and call blocks: which of varargs, kwargs and caller they ask for.
  std::set<std::string> asks_for;
};

}  // namespace tp::jinja
