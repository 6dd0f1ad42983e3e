#include "runtime/jinja/parser.h"

#include <initializer_list>
#include <map>

#include "runtime/jinja/expression_parser.h"

namespace tp::jinja {
namespace {

using StatementPtr = std::unique_ptr<Statement>;

StatementPtr make(StatementKind kind, Position at) {
  auto statement = std::make_unique<Statement>();
  statement->kind = kind;
  statement->at = at;
  return statement;
}

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Body run() {
    Body body = statements({});
    if (peek().kind != TokenKind::kEnd) unexpected("");
    return body;
  }

 private:
  // Up to a block that begins with one of `ends`, whose `{%` is taken and whose name is not.
  Body statements(std::initializer_list<std::string_view> ends) {
    const Nested nested(*this);
    Body body;
    while (peek().kind != TokenKind::kEnd) {
      const Token token = take();
      if (token.kind == TokenKind::kText) {
        body.push_back(make(StatementKind::kText, token.at));
        body.back()->text = token.text;
      } else if (token.kind == TokenKind::kPrintBegin) {
        body.push_back(make(StatementKind::kPrint, token.at));
        body.back()->expression = tuple();
        if (take_if(TokenKind::kPrintEnd)) continue;
        unexpected("`}}`");
      } else {
        for (const std::string_view end : ends) {
          if (is_name(end)) return body;
        }
        body.push_back(statement());
      }
    }
    if (ends.size() > 0) unexpected("`{% " + std::string(*(ends.end() - 1)) + " %}`");
    return body;
  }

  bool take_if(TokenKind kind) {
    if (peek().kind != kind) return false;
    take();
    return true;
  }
  void end_block() {
    if (!take_if(TokenKind::kBlockEnd)) unexpected("`%}`");
  }
  // Statements up to `{% end %}`, which is taken.
  Body body_until(std::string_view end) {
    end_block();
    Body body = statements({end});
    take();
    end_block();
    return body;
  }

  StatementPtr statement() {
    static const std::map<std::string, StatementPtr (Parser::*)(Position)> kStatements = {
        {"if", &Parser::if_statement},       {"for", &Parser::for_statement},     {"set", &Parser::set_statement},
        {"macro", &Parser::macro_statement}, {"call", &Parser::call_statement},   {"filter", &Parser::filter_statement},
        {"with", &Parser::with_statement},   {"generation", &Parser::generation}, {"print", &Parser::print_statement},
        {"block", &Parser::block_statement}, {"break", &Parser::break_statement}, {"continue", &Parser::continue_statement}};
    const Position at = peek().at;
    if (peek().kind != TokenKind::kName) unexpected("a statement");
    const auto found = kStatements.find(peek().text);
    if (found == kStatements.end()) fail("the statement `" + peek().text + "` is not supported");
    take();
    return (this->*found->second)(at);
  }

  StatementPtr if_statement(Position at) {
    StatementPtr node = make(StatementKind::kIf, at);
    while (true) {
      node->conditions.push_back(tuple());
      end_block();
      node->bodies.push_back(statements({"elif", "else", "endif"}));
      if (skip_name("elif")) continue;
      if (skip_name("else")) {
        node->bodies.push_back(body_until("endif"));
        return node;
      }
      take();
      end_block();
      return node;
    }
  }

  StatementPtr for_statement(Position at) {
    StatementPtr node = make(StatementKind::kFor, at);
    node->target = target();
    if (!skip_name("in")) unexpected("`in`");
    node->expression = for_items();
    if (skip_name("if")) node->condition = expression();
    node->recursive = skip_name("recursive");
    end_block();
    ++loops_;
    node->bodies.push_back(statements({"endfor", "else"}));
    --loops_;
    if (skip_name("else")) {
      node->bodies.push_back(body_until("endfor"));
      return node;
    }
    take();
    end_block();
    return node;
  }

  // An `if` after the items filters them, so it is not taken for an if-else here.
  ExpressionPtr for_items() {
    const Position at = peek().at;
    ExpressionPtr first = or_expression();
    if (!is_operator(",")) return first;
    auto node = std::make_unique<Expression>();
    node->kind = ExpressionKind::kTuple;
    node->at = at;
    node->parts.push_back(std::move(first));
    while (skip_operator(",")) node->parts.push_back(or_expression());
    return node;
  }

  Target target() {
    Target first = one_target();
    if (!is_operator(",")) return first;
    Target all;
    all.parts.push_back(std::move(first));
    while (skip_operator(",") && !is_name("in") && !is_operator("=")) all.parts.push_back(one_target());
    return all;
  }
  Target one_target() {
    const Nested nested(*this);
    if (skip_operator("(")) {
      Target inner = target();
      expect_operator(")");
      return inner;
    }
    for (const std::string_view reserved : {"true", "false", "none", "True", "False", "None"}) {
      if (is_name(reserved)) fail("can't assign to '" + peek().text + "'");
    }
    Target one;
    one.name = expect_name();
    if (skip_operator(".")) one.attribute = expect_name();
    return one;
  }

  StatementPtr set_statement(Position at) {
    StatementPtr node = make(StatementKind::kSet, at);
    node->target = target();
    if (skip_operator("=")) {
      node->expression = tuple();
      end_block();
      return node;
    }
    node->kind = StatementKind::kSetBlock;
    if (skip_operator("|")) node->expression = filters(nullptr);
    node->bodies.push_back(body_until("endset"));
    return node;
  }

  std::vector<Parameter> parameters() {
    std::vector<Parameter> found;
    while (!skip_operator(")")) {
      Parameter parameter{expect_name(), nullptr};
      if (skip_operator("=")) {
        parameter.otherwise = expression();
      } else if (!found.empty() && found.back().otherwise) {
        fail("non-default argument follows default argument");
      }
      for (const Parameter& other : found) {
        if (other.name == parameter.name) fail("duplicate argument '" + parameter.name + "' in a macro");
      }
      found.push_back(std::move(parameter));
      if (!is_operator(")")) expect_operator(",");
    }
    return found;
  }

  StatementPtr macro_statement(Position at) {
    StatementPtr node = make(StatementKind::kMacro, at);
    node->text = expect_name();
    expect_operator("(");
    macro_parts(*node, true, "endmacro");
    return node;
  }

  // Parameters and body; what the body asks for, a macro around it asks for too.
  void macro_parts(Statement& node, bool with_parameters, std::string_view end) {
    std::set<std::string> outer = std::exchange(asked_for_, {});
    if (with_parameters) node.parameters = parameters();
    if (end == "endcall") node.expression = expression();
    if (node.expression && node.expression->kind != ExpressionKind::kCall) fail("expected call");
    node.bodies.push_back(outside_loops(end));
    for (const Parameter& parameter : node.parameters) asked_for_.erase(parameter.name);
    node.asks_for = asked_for_;
    asked_for_.merge(outer);
  }

  StatementPtr call_statement(Position at) {
    StatementPtr node = make(StatementKind::kCallBlock, at);
    macro_parts(*node, skip_operator("("), "endcall");
    return node;
  }

  // break and continue do not reach out of a macro.
  Body outside_loops(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Body body = body_until(end);
    loops_ = loops;
    return body;
  }

  StatementPtr filter_statement(Position at) {
    StatementPtr node = make(StatementKind::kFilterBlock, at);
    node->expression = filters(nullptr);
    node->bodies.push_back(body_until("endfilter"));
    return node;
  }

  StatementPtr with_statement(Position at) {
    StatementPtr node = make(StatementKind::kWith, at);
    while (peek().kind != TokenKind::kBlockEnd) {
      Target name = one_target();
      expect_operator("=");
      node->sets.emplace_back(std::move(name), expression());
      if (peek().kind != TokenKind::kBlockEnd) expect_operator(",");
    }
    node->bodies.push_back(body_until("endwith"));
    return node;
  }

  // Marks what the assistant said, for training; the text is as without it.
  StatementPtr generation(Position at) {
    StatementPtr node = make(StatementKind::kScope, at);
    node->bodies.push_back(body_until("endgeneration"));
    return node;
  }

  // A block that no other template replaces; its name may stand again at its end.
  StatementPtr block_statement(Position at) {
    StatementPtr node = make(StatementKind::kBlock, at);
    node->text = expect_name();
    if (!blocks_.insert(node->text).second) throw Fault{"block '" + node->text + "' defined twice", at};
    node->scoped = skip_name("scoped");
    if (is_name("required")) fail("a required block is for templates that extend this one");
    const int loops = std::exchange(loops_, 0);
    end_block();
    node->bodies.push_back(statements({"endblock"}));
    loops_ = loops;
    take();
    skip_name(node->text);
    end_block();
    return node;
  }

  // Each of several values as a text of its own.
  StatementPtr print_statement(Position at) {
    StatementPtr node = make(StatementKind::kScope, at);
    node->bodies.emplace_back();
    do {
      node->bodies[0].push_back(make(StatementKind::kPrint, peek().at));
      node->bodies[0].back()->expression = expression();
    } while (skip_operator(","));
    end_block();
    return node;
  }

  StatementPtr break_statement(Position at) { return jump(StatementKind::kBreak, at); }
  StatementPtr continue_statement(Position at) { return jump(StatementKind::kContinue, at); }
  StatementPtr jump(StatementKind kind, Position at) {
    if (loops_ == 0) throw Fault{"break and continue are for loops", at};
    end_block();
    return make(kind, at);
  }

  int loops_ = 0;  // open here
  std::set<std::string> blocks_;
};

}  // namespace

Body parse(std::string_view source) {
  return Parser(tokenize(source)).run();
}

}  // namespace tp::jinja
