#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/jinja/lexer.h"
#include "runtime/jinja/syntax.h"

namespace tp::jinja {

// Reads expressions from tokens; the statement parser is built on it. Precedence as in Jinja: if-else, or, and, not,
// comparison, + -, ~, * / // %, **, unary, postfix and filters. Throws Fault.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  ExpressionPtr expression() { return condition(true); }
  ExpressionPtr condition(bool with_else);
  // An expression or several with commas, which make a tuple. Ends before the name `stop`.
  ExpressionPtr tuple(std::string_view stop = "");
  ExpressionPtr or_expression();
  ExpressionPtr postfix(ExpressionPtr value);
  ExpressionPtr filters(ExpressionPtr value);  // after the first `|`
  CallArguments call_arguments();              // after the `(`

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Token take() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
  bool is(TokenKind kind, std::string_view text) const { return peek().kind == kind && peek().text == text; }
  bool is_operator(std::string_view text) const { return is(TokenKind::kOperator, text); }
  bool is_name(std::string_view text) const { return is(TokenKind::kName, text); }
  bool skip_operator(std::string_view text);
  bool skip_name(std::string_view text);
  void expect_operator(std::string_view text);
  std::string expect_name();
  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void unexpected(const std::string& wanted) const;

  std::set<std::string> asked_for_;  // of varargs, kwargs and caller

  // Bounds the depth of what is nested in one another.
  class Nested {
   public:
    explicit Nested(ExpressionParser& parser);
    ~Nested() { --parser_.depth_; }

   private:
    ExpressionParser& parser_;
  };

 private:
  ExpressionPtr and_expression();
  ExpressionPtr not_expression();
  ExpressionPtr comparison();
  ExpressionPtr binary(int level);
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters);
  ExpressionPtr primary();
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr subscript(ExpressionPtr value);
  ExpressionPtr test(ExpressionPtr value);
  ExpressionPtr filters_and_tests(ExpressionPtr value);
  bool begins_test_argument() const;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace tp::jinja
