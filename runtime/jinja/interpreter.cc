#include "runtime/jinja/interpreter.h"

#include <optional>

#include "runtime/jinja/builtins.h"
#include "runtime/jinja/loop_value.h"
#include "runtime/jinja/macro_arguments.h"
#include "runtime/jinja/operators.h"

namespace tp::jinja {
namespace {

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr int64_t kMostSteps = 20'000;
#else
constexpr int64_t kMostSteps = 20'000'000;
#endif
constexpr int kDeepestCall = 100;
// What a recursive loop does when it is called; no name of a template is spelled like this.
constexpr const char* kLoopCall = "()";

ScopePtr inside(const ScopePtr& parent) {
  return std::make_shared<Scope>(Scope{{}, parent});
}

}  // namespace

Interpreter::~Interpreter() {
  for (const auto& [address, owner] : changed_) owner.name_space().attributes.items.clear();
}

std::string Interpreter::run(const Body& body, std::map<std::string, Value> variables) {
  top_ = std::make_shared<Scope>(Scope{std::move(variables), nullptr});
  std::string out;
  execute(body, top_, out);
  return out;
}

void Interpreter::count_step() {
  if (++steps_ > kMostSteps) throw Fault{"the template takes too many steps"};
}

Interpreter::Flow Interpreter::execute(const Body& body, const ScopePtr& scope, std::string& out) {
  for (const auto& statement : body) {
    const Flow flow = execute(*statement, scope, out);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute(const Statement& s, const ScopePtr& scope, std::string& out) {
  try {
    count_step();
    switch (s.kind) {
      case StatementKind::kText:
        out += s.text;
        break;
      case StatementKind::kPrint:
        out += text_of(evaluate(*s.expression, scope));
        break;
      case StatementKind::kIf:
        return run_if(s, scope, out);
      case StatementKind::kFor:
        return run_for(s, scope, out);
      case StatementKind::kSet:
        assign(s.target, evaluate(*s.expression, scope), scope);
        break;
      case StatementKind::kSetBlock: {
        const Value text = inner_text(s.bodies[0], scope);
        assign(s.target, s.expression ? filter_of(*s.expression, scope, &text) : text, scope);
        break;
      }
      case StatementKind::kMacro:
        scope->values[s.text] = macro(s, s.text, scope);
        break;
      case StatementKind::kCallBlock:
        run_call_block(s, scope, out);
        break;
      case StatementKind::kFilterBlock: {
        const Value text = inner_text(s.bodies[0], scope);
        out += text_of(filter_of(*s.expression, scope, &text));
        break;
      }
      case StatementKind::kWith:
        run_with(s, scope, out);
        break;
      case StatementKind::kScope:
        out += inner_text(s.bodies[0], scope);
        break;
      case StatementKind::kBlock:
        out += inner_text(s.bodies[0], s.scoped ? scope : top_);
        break;
      case StatementKind::kBreak:
        return Flow::kBreak;
      case StatementKind::kContinue:
        return Flow::kContinue;
    }
    limit_text(out);
    return Flow::kNext;
  } catch (Fault& fault) {
    if (fault.at.line == 0) fault.at = s.at;
    throw;
  }
}

std::string Interpreter::inner_text(const Body& body, const ScopePtr& scope) {
  std::string text;
  execute(body, inside(scope), text);
  return text;
}

Interpreter::Flow Interpreter::run_if(const Statement& s, const ScopePtr& scope, std::string& out) {
  for (size_t i = 0; i < s.conditions.size(); ++i) {
    if (truthy(evaluate(*s.conditions[i], scope))) return execute(s.bodies[i], scope, out);
  }
  return s.bodies.size() > s.conditions.size() ? execute(s.bodies.back(), scope, out) : Flow::kNext;
}

Interpreter::Flow Interpreter::run_for(const Statement& s, const ScopePtr& scope, std::string& out) {
  run_loop(s, items_of(evaluate(*s.expression, scope)), 1, scope, out);
  return Flow::kNext;
}

void Interpreter::run_loop(const Statement& s, List items, int64_t depth, const ScopePtr& scope, std::string& out) {
  if (s.condition) {
    List kept;
    for (const Value& item : items) {
      const ScopePtr round = inside(scope);
      assign(s.target, item, round);
      if (truthy(evaluate(*s.condition, round))) kept.push_back(item);
    }
    items = std::move(kept);
  }
  if (items.empty()) {
    if (s.bodies.size() > 1) execute(s.bodies[1], scope, out);
    return;
  }
  const auto previous = std::make_shared<std::optional<Value>>();
  for (size_t i = 0; i < items.size(); ++i) {
    const ScopePtr round = inside(scope);
    assign(s.target, items[i], round);
    Value loop = loop_value(items, i, depth, previous);
    if (s.recursive) loop.name_space().attributes.set(kLoopCall, loop_call(s, depth, scope));
    round->values["loop"] = std::move(loop);
    if (execute(s.bodies[0], round, out) == Flow::kBreak) break;
  }
}

// loop(items) of a recursive loop: the text of the loop over these items, one level deeper.
Value Interpreter::loop_call(const Statement& s, int64_t depth, const ScopePtr& scope) {
  const std::weak_ptr<Scope> seen = scope;
  return Function{"loop", [this, &s, depth, seen](const Arguments& arguments) {
                    const ScopePtr defined_in = seen.lock();
                    if (!defined_in || arguments.positional.size() != 1)
                      throw Fault{"loop() takes the items of its next level"};
                    if (depth_ == kDeepestCall) throw Fault{"loops call each other too deep"};
                    ++depth_;
                    std::string text;
                    run_loop(s, items_of(arguments.positional[0]), depth + 1, defined_in, text);
                    --depth_;
                    return Value(text);
                  }};
}

void Interpreter::run_with(const Statement& s, const ScopePtr& scope, std::string& out) {
  const ScopePtr inner = inside(scope);
  for (const auto& [target, expression] : s.sets) assign(target, evaluate(*expression, scope), inner);
  execute(s.bodies[0], inner, out);
}

void Interpreter::run_call_block(const Statement& s, const ScopePtr& scope, std::string& out) {
  const Value callee = evaluate(*s.expression->parts[0], scope);
  Arguments arguments = arguments_of(s.expression->arguments, scope);
  arguments.named.emplace_back("caller", macro(s, "caller", scope));
  if (!defined(callee).is_function()) throw Fault{object_name(callee) + " is not callable"};
  out += text_of(callee.function().call(arguments));
}

Value Interpreter::macro(const Statement& s, const std::string& name, const ScopePtr& scope) {
  // A macro lives in the scope that it sees; a strong pointer from there to itself would keep both for ever.
  const std::weak_ptr<Scope> seen = scope;
  return Function{name, [this, &s, name, seen](const Arguments& arguments) {
                    const ScopePtr defined_in = seen.lock();
                    if (!defined_in) throw Fault{"macro '" + name + "' is called outside of where it was defined"};
                    return Value(call_macro(s, name, defined_in, arguments));
                  }};
}

std::string Interpreter::call_macro(const Statement& s, const std::string& name, const ScopePtr& scope,
                                    const Arguments& arguments) {
  if (depth_ == kDeepestCall) throw Fault{"macros call each other too deep"};
  const ScopePtr inner = inside(scope);
  inner->values = other_arguments(s, name, arguments);
  for (size_t i = 0; i < s.parameters.size(); ++i) {
    const Parameter& parameter = s.parameters[i];
    const Value* given = arguments.find(i, parameter.name);
    inner->values[parameter.name] = given ? *given
                                    : parameter.otherwise
                                        ? evaluate(*parameter.otherwise, inner)
                                        : Value(Undefined{"parameter '" + parameter.name + "' was not provided"});
  }
  ++depth_;
  std::string text;
  execute(s.bodies[0], inner, text);
  --depth_;
  return text;
}

void Interpreter::assign(const Target& target, const Value& value, const ScopePtr& scope) {
  if (target.parts.empty()) {
    if (target.attribute.empty()) {
      scope->values[target.name] = value;
      return;
    }
    const Value owner = name_of(target.name, scope);
    if (!owner.is_namespace()) throw Fault{"cannot assign attribute on non-namespace object"};
    if (target.attribute.starts_with('_')) throw Fault{"a namespace cannot have the attribute '" + target.attribute + "'"};
    changed_.try_emplace(&owner.name_space(), owner);
    owner.name_space().attributes.set(target.attribute, value);
    return;
  }
  const List items = items_of(value);
  if (items.size() < target.parts.size()) {
    throw Fault{"not enough values to unpack (expected " + std::to_string(target.parts.size()) + ", got " +
                std::to_string(items.size()) + ")"};
  }
  if (items.size() > target.parts.size())
    throw Fault{"too many values to unpack (expected " + std::to_string(target.parts.size()) + ")"};
  for (size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i], scope);
}

Value Interpreter::evaluate(const Expression& e, const ScopePtr& scope) {
  try {
    count_step();
    return value_of(e, scope);
  } catch (Fault& fault) {
    if (fault.at.line == 0) fault.at = e.at;
    throw;
  }
}

Value Interpreter::value_of(const Expression& e, const ScopePtr& scope) {
  const auto part = [&](size_t i) { return e.parts[i] ? evaluate(*e.parts[i], scope) : Value(); };
  switch (e.kind) {
    case ExpressionKind::kConstant:
      return e.value;
    case ExpressionKind::kName:
      return name_of(e.name, scope);
    case ExpressionKind::kList:
    case ExpressionKind::kTuple:
      return list_of(e, scope);
    case ExpressionKind::kDict:
      return dict_of(e, scope);
    case ExpressionKind::kUnary:
      return e.name == "not" ? Value(!truthy(part(0))) : unary(e.name, defined(part(0)));
    case ExpressionKind::kBinary:
      return binary_of(e, scope);
    case ExpressionKind::kCompare:
      return comparison_of(e, scope);
    case ExpressionKind::kCondition:
      return condition_of(e, scope);
    case ExpressionKind::kAttribute: {
      const Value value = part(0);
      const Value method = method_of(defined(value), e.name);
      return method.is_undefined() ? item_of(value, e.name) : method;
    }
    case ExpressionKind::kItem: {
      const Value value = part(0), key = part(1);
      const Value item = item_of(value, key);
      const Value method = item.is_undefined() && key.is_string() ? method_of(value, key.string()) : Value();
      return method.is_function() ? method : item;
    }
    case ExpressionKind::kSlice:
      return slice_of(part(0), part(1), part(2), part(3));
    case ExpressionKind::kCall:
      return call_of(e, scope);
    case ExpressionKind::kFilter:
      return filter_of(e, scope, nullptr);
    case ExpressionKind::kTest:
      return apply_test(e.name, part(0), arguments_of(e.arguments, scope));
  }
  return {};
}

Value Interpreter::name_of(const std::string& name, const ScopePtr& scope) const {
  for (const Scope* s = scope.get(); s; s = s->parent.get()) {
    if (const auto found = s->values.find(name); found != s->values.end()) return found->second;
  }
  if (const auto found = globals().find(name); found != globals().end()) return found->second;
  return Undefined{"'" + name + "' is undefined"};
}

Value Interpreter::list_of(const Expression& e, const ScopePtr& scope) {
  List items;
  for (const auto& part : e.parts) items.push_back(evaluate(*part, scope));
  return e.kind == ExpressionKind::kTuple ? Value::tuple(std::move(items)) : Value(std::move(items));
}

Value Interpreter::dict_of(const Expression& e, const ScopePtr& scope) {
  Dict dict;
  for (size_t i = 0; i < e.parts.size(); i += 2) {
    const Value key = evaluate(*e.parts[i], scope);
    if ((key.is_list() && !key.is_tuple()) || key.is_dict()) throw Fault{"unhashable type: '" + type_name(key) + "'"};
    dict.set(key, evaluate(*e.parts[i + 1], scope));
  }
  return dict;
}

Value Interpreter::binary_of(const Expression& e, const ScopePtr& scope) {
  const Value left = evaluate(*e.parts[0], scope);
  if (e.name == "and" || e.name == "or") return truthy(left) == (e.name == "and") ? evaluate(*e.parts[1], scope) : left;
  return binary(e.name, left, evaluate(*e.parts[1], scope));
}

Value Interpreter::comparison_of(const Expression& e, const ScopePtr& scope) {
  Value left = evaluate(*e.parts[0], scope);
  for (size_t i = 0; i < e.names.size(); ++i) {
    Value right = evaluate(*e.parts[i + 1], scope);
    if (!compare_values(e.names[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::condition_of(const Expression& e, const ScopePtr& scope) {
  if (truthy(evaluate(*e.parts[1], scope))) return evaluate(*e.parts[0], scope);
  if (e.parts[2]) return evaluate(*e.parts[2], scope);
  return Undefined{"the inline if-expression evaluated to false and no else section was defined."};
}

Value Interpreter::call_of(const Expression& e, const ScopePtr& scope) {
  Value callee = evaluate(*e.parts[0], scope);
  const Arguments arguments = arguments_of(e.arguments, scope);
  if (callee.is_namespace()) {
    const Value* of_loop = callee.name_space().attributes.find(kLoopCall);
    if (of_loop != nullptr) callee = *of_loop;
  }
  if (!defined(callee).is_function()) throw Fault{object_name(callee) + " is not callable"};
  return callee.function().call(arguments);
}

Value Interpreter::filter_of(const Expression& e, const ScopePtr& scope, const Value* piped) {
  Value value;
  if (!e.parts[0]) {
    value = *piped;
  } else {
    value = e.parts[0]->kind == ExpressionKind::kFilter ? filter_of(*e.parts[0], scope, piped) : evaluate(*e.parts[0], scope);
  }
  try {
    return apply_filter(e.name, value, arguments_of(e.arguments, scope));
  } catch (Fault& fault) {
    if (fault.at.line == 0) fault.at = e.at;
    throw;
  }
}

Arguments Interpreter::arguments_of(const CallArguments& arguments, const ScopePtr& scope) {
  Arguments values;
  for (const auto& argument : arguments.positional) values.positional.push_back(evaluate(*argument, scope));
  for (const auto& [name, argument] : arguments.named) values.named.emplace_back(name, evaluate(*argument, scope));
  if (arguments.all_positional) {
    for (const Value& item : items_of(evaluate(*arguments.all_positional, scope))) values.positional.push_back(item);
  }
  if (!arguments.all_named) return values;
  const Value named = evaluate(*arguments.all_named, scope);
  if (!named.is_dict()) throw Fault{"argument after ** must be a mapping, not " + type_name(named)};
  for (const auto& [key, item] : named.dict().items) {
    if (!key.is_string()) throw Fault{"keywords must be strings"};
    if (values.find(SIZE_MAX, key.string())) throw Fault{"got multiple values for keyword argument '" + key.string() + "'"};
    values.named.emplace_back(key.string(), item);
  }
  return values;
}

}  // namespace tp::jinja
