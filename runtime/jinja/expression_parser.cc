#include "runtime/jinja/expression_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace tp::jinja {
namespace {

constexpr int kDeepest = 100;

ExpressionPtr make(ExpressionKind kind, Position at, std::string name = "") {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->at = at;
  node->name = std::move(name);
  return node;
}

template <typename... Parts>
ExpressionPtr make_of(ExpressionKind kind, Position at, std::string name, Parts... parts) {
  ExpressionPtr node = make(kind, at, std::move(name));
  (node->parts.push_back(std::move(parts)), ...);
  return node;
}

ExpressionPtr constant(Position at, Value value) {
  ExpressionPtr node = make(ExpressionKind::kConstant, at);
  node->value = std::move(value);
  return node;
}

}  // namespace

ExpressionParser::Nested::Nested(ExpressionParser& parser) : parser_(parser) {
  if (++parser_.depth_ > kDeepest) parser_.fail("nested too deep");
}

void ExpressionParser::fail(const std::string& message) const {
  throw Fault{message, peek().at};
}

void ExpressionParser::unexpected(const std::string& wanted) const {
  const std::string found = peek().kind == TokenKind::kEnd ? "end of template" : "`" + peek().text + "`";
  fail("unexpected " + found + (wanted.empty() ? "" : ", expected " + wanted));
}

bool ExpressionParser::skip_operator(std::string_view text) {
  if (!is_operator(text)) return false;
  take();
  return true;
}

bool ExpressionParser::skip_name(std::string_view text) {
  if (!is_name(text)) return false;
  take();
  return true;
}

void ExpressionParser::expect_operator(std::string_view text) {
  if (!skip_operator(text)) unexpected("`" + std::string(text) + "`");
}

std::string ExpressionParser::expect_name() {
  if (peek().kind != TokenKind::kName) unexpected("a name");
  return take().text;
}

ExpressionPtr ExpressionParser::condition(bool with_else) {
  const Nested nested(*this);
  ExpressionPtr value = or_expression();
  while (is_name("if")) {
    const Position at = take().at;
    ExpressionPtr test = or_expression();
    ExpressionPtr otherwise = with_else && skip_name("else") ? condition(true) : nullptr;
    value = make_of(ExpressionKind::kCondition, at, "", std::move(value), std::move(test), std::move(otherwise));
  }
  return value;
}

ExpressionPtr ExpressionParser::tuple(std::string_view stop) {
  const Position at = peek().at;
  const auto ends = [&] {
    return peek().kind == TokenKind::kBlockEnd || peek().kind == TokenKind::kPrintEnd || is_operator(")") ||
           (!stop.empty() && is_name(stop));
  };
  if (ends()) unexpected("an expression");
  ExpressionPtr first = expression();
  if (!is_operator(",")) return first;
  ExpressionPtr node = make_of(ExpressionKind::kTuple, at, "", std::move(first));
  while (skip_operator(",") && !ends()) node->parts.push_back(expression());
  return node;
}

ExpressionPtr ExpressionParser::or_expression() {
  ExpressionPtr left = and_expression();
  while (is_name("or")) {
    const Position at = take().at;
    left = make_of(ExpressionKind::kBinary, at, "or", std::move(left), and_expression());
  }
  return left;
}

ExpressionPtr ExpressionParser::and_expression() {
  ExpressionPtr left = not_expression();
  while (is_name("and")) {
    const Position at = take().at;
    left = make_of(ExpressionKind::kBinary, at, "and", std::move(left), not_expression());
  }
  return left;
}

ExpressionPtr ExpressionParser::not_expression() {
  if (!is_name("not")) return comparison();
  const Nested nested(*this);
  const Position at = take().at;
  return make_of(ExpressionKind::kUnary, at, "not", not_expression());
}

ExpressionPtr ExpressionParser::comparison() {
  const Position at = peek().at;
  ExpressionPtr first = binary(0);
  ExpressionPtr node;
  while (true) {
    std::string name;
    for (const std::string_view symbol : {"==", "!=", "<", "<=", ">", ">="}) {
      if (is_operator(symbol)) name = symbol;
    }
    if (is_name("in")) name = "in";
    if (is_name("not") && peek(1).kind == TokenKind::kName && peek(1).text == "in") {
      name = "not in";
      take();
    }
    if (name.empty()) return node ? std::move(node) : std::move(first);
    take();
    if (!node) node = make_of(ExpressionKind::kCompare, at, "", std::move(first));
    node->names.push_back(name);
    node->parts.push_back(binary(0));
  }
}

// Left-associative operators, the loosest level first.
ExpressionPtr ExpressionParser::binary(int level) {
  static const std::vector<std::vector<std::string_view>> kLevels = {{"+", "-"}, {"~"}, {"*", "/", "//", "%"}};
  if (level == static_cast<int>(kLevels.size())) return power();
  ExpressionPtr left = binary(level + 1);
  while (peek().kind == TokenKind::kOperator && std::ranges::count(kLevels[level], peek().text) > 0) {
    const Token symbol = take();
    left = make_of(ExpressionKind::kBinary, symbol.at, symbol.text, std::move(left), binary(level + 1));
  }
  return left;
}

ExpressionPtr ExpressionParser::power() {
  ExpressionPtr left = unary(true);
  while (is_operator("**")) {
    const Position at = take().at;
    left = make_of(ExpressionKind::kBinary, at, "**", std::move(left), unary(true));
  }
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const Nested nested(*this);
  ExpressionPtr node;
  if (is_operator("-") || is_operator("+")) {
    const Token sign = take();
    node = make_of(ExpressionKind::kUnary, sign.at, sign.text, unary(false));
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filters ? filters_and_tests(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::primary() {
  const Token token = peek();
  if (token.kind == TokenKind::kName) {
    take();
    if (token.text == "true" || token.text == "True") return constant(token.at, true);
    if (token.text == "false" || token.text == "False") return constant(token.at, false);
    if (token.text == "none" || token.text == "None") return constant(token.at, Value());
    if (token.text == "varargs" || token.text == "kwargs" || token.text == "caller") asked_for_.insert(token.text);
    return make(ExpressionKind::kName, token.at, token.text);
  }
  if (token.kind == TokenKind::kString) {
    std::string text;
    while (peek().kind == TokenKind::kString) text += take().text;
    return constant(token.at, text);
  }
  if (token.kind == TokenKind::kInteger) {
    int64_t value = 0;
    const char* end = token.text.data() + token.text.size();
    if (std::from_chars(token.text.data(), end, value).ec != std::errc()) fail("the number is too large");
    take();
    return constant(token.at, value);
  }
  if (token.kind == TokenKind::kFloat) return constant(token.at, std::strtod(take().text.c_str(), nullptr));
  if (skip_operator("(")) {
    if (skip_operator(")")) return make(ExpressionKind::kTuple, token.at);
    ExpressionPtr inner = tuple();
    expect_operator(")");
    return inner;
  }
  if (is_operator("[")) return list();
  if (is_operator("{")) return dict();
  unexpected("an expression");
}

ExpressionPtr ExpressionParser::list() {
  ExpressionPtr node = make(ExpressionKind::kList, take().at);
  while (!is_operator("]")) {
    node->parts.push_back(expression());
    if (!is_operator("]")) expect_operator(",");
  }
  take();
  return node;
}

ExpressionPtr ExpressionParser::dict() {
  ExpressionPtr node = make(ExpressionKind::kDict, take().at);
  while (!is_operator("}")) {
    node->parts.push_back(expression());
    expect_operator(":");
    node->parts.push_back(expression());
    if (!is_operator("}")) expect_operator(",");
  }
  take();
  return node;
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr value) {
  while (true) {
    const Position at = peek().at;
    if (skip_operator(".")) {
      if (peek().kind == TokenKind::kInteger) {
        value = make_of(ExpressionKind::kItem, at, "", std::move(value), primary());
      } else {
        value = make_of(ExpressionKind::kAttribute, at, expect_name(), std::move(value));
      }
    } else if (is_operator("[")) {
      value = subscript(std::move(value));
    } else if (skip_operator("(")) {
      value = make_of(ExpressionKind::kCall, at, "", std::move(value));
      value->arguments = call_arguments();
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr value) {
  const Position at = take().at;
  ExpressionPtr bounds[3];
  bool slice = false;
  if (!is_operator(":")) bounds[0] = tuple();
  for (int i = 1; i < 3 && skip_operator(":"); ++i) {
    slice = true;
    if (!is_operator(":") && !is_operator("]")) bounds[i] = expression();
  }
  expect_operator("]");
  if (!slice) return make_of(ExpressionKind::kItem, at, "", std::move(value), std::move(bounds[0]));
  return make_of(ExpressionKind::kSlice, at, "", std::move(value), std::move(bounds[0]), std::move(bounds[1]),
                 std::move(bounds[2]));
}

CallArguments ExpressionParser::call_arguments() {
  const Nested nested(*this);
  CallArguments arguments;
  while (!skip_operator(")")) {
    if (is_operator("*") || is_operator("**")) {
      ExpressionPtr& all = take().text == "*" ? arguments.all_positional : arguments.all_named;
      if (all || arguments.all_named) fail("invalid syntax for function call expression");
      all = expression();
    } else if (peek().kind == TokenKind::kName && peek(1).kind == TokenKind::kOperator && peek(1).text == "=") {
      std::string name = take().text;
      take();
      arguments.named.emplace_back(std::move(name), expression());
    } else {
      if (!arguments.named.empty() || arguments.all_positional || arguments.all_named)
        fail("invalid syntax for function call expression");
      arguments.positional.push_back(expression());
    }
    if (!is_operator(")")) expect_operator(",");
  }
  return arguments;
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr value) {
  while (true) {
    const Position at = peek().at;
    if (skip_operator("|")) {
      value = filters(std::move(value));
    } else if (skip_name("is")) {
      value = test(std::move(value));
    } else if (skip_operator("(")) {
      value = make_of(ExpressionKind::kCall, at, "", std::move(value));
      value->arguments = call_arguments();
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr value) {
  do {
    const Position at = peek().at;
    value = make_of(ExpressionKind::kFilter, at, expect_name(), std::move(value));
    if (skip_operator("(")) value->arguments = call_arguments();
  } while (skip_operator("|"));
  return value;
}

bool ExpressionParser::begins_test_argument() const {
  if (peek().kind == TokenKind::kName)
    return !is_name("else") && !is_name("or") && !is_name("and") && !is_name("if") && !is_name("is");
  return peek().kind == TokenKind::kString || peek().kind == TokenKind::kInteger || peek().kind == TokenKind::kFloat ||
         is_operator("[") || is_operator("{");
}

ExpressionPtr ExpressionParser::test(ExpressionPtr value) {
  const Position at = peek().at;
  const bool negated = skip_name("not");
  ExpressionPtr node = make_of(ExpressionKind::kTest, at, expect_name(), std::move(value));
  if (skip_operator("(")) {
    node->arguments = call_arguments();
  } else if (begins_test_argument()) {
    node->arguments.positional.push_back(postfix(primary()));
  }
  return negated ? make_of(ExpressionKind::kUnary, at, "not", std::move(node)) : std::move(node);
}

}  // namespace tp::jinja
