#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/jinja/syntax.h"

namespace tp::jinja {

// Variables that are seen from one place of a template. Loops, macros, with and blocks open scopes; if does not.
struct Scope {
  std::map<std::string, Value> values;
  std::shared_ptr<Scope> parent;
};
using ScopePtr = std::shared_ptr<Scope>;

// Runs the statements of one template. Bounded: a template that runs or nests without end is a Fault.
class Interpreter {
 public:
  ~Interpreter();
  // `body` outlives the interpreter. Throws Fault with its place.
  std::string run(const Body& body, std::map<std::string, Value> variables);

 private:
  enum class Flow { kNext, kBreak, kContinue };

  Flow execute(const Body& body, const ScopePtr& scope, std::string& out);
  Flow execute(const Statement& statement, const ScopePtr& scope, std::string& out);
  Flow run_if(const Statement& statement, const ScopePtr& scope, std::string& out);
  Flow run_for(const Statement& statement, const ScopePtr& scope, std::string& out);
  Value loop_call(const Statement& statement, int64_t depth, const ScopePtr& scope);
  void run_loop(const Statement& statement, List items, int64_t depth, const ScopePtr& scope, std::string& out);
  void run_with(const Statement& statement, const ScopePtr& scope, std::string& out);
  void run_call_block(const Statement& statement, const ScopePtr& scope, std::string& out);
  std::string inner_text(const Body& body, const ScopePtr& scope);
  Value macro(const Statement& statement, const std::string& name, const ScopePtr& scope);
  std::string call_macro(const Statement& statement, const std::string& name, const ScopePtr& scope,
                         const Arguments& arguments);
  void assign(const Target& target, const Value& value, const ScopePtr& scope);

  Value evaluate(const Expression& expression, const ScopePtr& scope);
  Value value_of(const Expression& expression, const ScopePtr& scope);
  Value name_of(const std::string& name, const ScopePtr& scope) const;
  Value list_of(const Expression& expression, const ScopePtr& scope);
  Value dict_of(const Expression& expression, const ScopePtr& scope);
  Value binary_of(const Expression& expression, const ScopePtr& scope);
  Value comparison_of(const Expression& expression, const ScopePtr& scope);
  Value condition_of(const Expression& expression, const ScopePtr& scope);
  Value call_of(const Expression& expression, const ScopePtr& scope);
  // `piped` is what a filter without a value of its own works on ({% filter %}, block sets).
  Value filter_of(const Expression& expression, const ScopePtr& scope, const Value* piped);
  Arguments arguments_of(const CallArguments& arguments, const ScopePtr& scope);
  void count_step();

  ScopePtr top_;
  // Namespaces that got an attribute: one may hold itself, so they are emptied in the end.
  std::map<const Namespace*, Value> changed_;
  int64_t steps_ = 0;
  int depth_ = 0;  // of macro calls
};

}  // namespace tp::jinja
