#include "kubesim/schema/cel/syntax/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "kubesim/schema/cel/syntax/lexer.h"

namespace basalt::kubesim::cel {
namespace {

using TokenKind = Token::Kind;

constexpr std::string_view kOperand =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

// Recursive descent. The first thing that is wrong ends the parse.
class Parser {
 public:
  Parser(std::vector<Token> tokens, std::vector<Issue>* issues) : tokens_(std::move(tokens)), issues_(issues) {}

  ExprPtr Run() {
    ExprPtr expr = Ternary();
    if (expr == nullptr) return nullptr;
    if (Now().kind != TokenKind::kEnd) {
      const bool last = tokens_[at_ + 1].kind == TokenKind::kEnd;
      return Fail(Now().pos, fmt::format("Syntax error: {} input '{}' expecting <EOF>",
                                         last ? "extraneous" : "mismatched", Now().text));
    }
    return expr;
  }

 private:
  const Token& Now() const { return tokens_[at_]; }
  bool Is(std::string_view sign) const { return Now().kind == TokenKind::kSign && Now().text == sign; }
  bool Word(std::string_view word) const { return Now().kind == TokenKind::kIdent && Now().text == word; }
  bool Take(std::string_view sign) {
    if (!Is(sign)) return false;
    ++at_;
    return true;
  }

  ExprPtr Fail(int pos, std::string message) {
    if (!failed_) issues_->push_back({pos, std::move(message)});
    failed_ = true;
    return nullptr;
  }
  ExprPtr Mismatch(std::string_view expecting) {
    return Fail(Now().pos, fmt::format("Syntax error: mismatched input '{}' expecting {}", Now().text, expecting));
  }

  ExprPtr Bounded(ExprPtr expr) {
    if (expr == nullptr) return nullptr;
    int deepest = expr->target == nullptr ? 0 : expr->target->depth;
    for (const ExprPtr& arg : expr->args) deepest = std::max(deepest, arg->depth);
    expr->depth = deepest + 1;
    if (expr->depth > kMaxExprDepth) return TooDeep();
    return expr;
  }
  ExprPtr TooDeep() { return Fail(0, fmt::format("expression recursion limit exceeded: {}", kMaxExprDepth)); }

  static ExprPtr New(ExprKind kind, int pos, std::string_view name = {}) {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->pos = pos;
    expr->name = name;
    return expr;
  }

  ExprPtr Ternary() {
    if (++depth_ > kMaxExprDepth) return TooDeep();
    ExprPtr condition = Logical("||");
    if (condition != nullptr && Is("?")) {
      ExprPtr call = New(ExprKind::kCall, Now().pos, "_?_:_");
      ++at_;
      ExprPtr yes = Logical("||");
      if (yes == nullptr) return nullptr;
      if (!Take(":")) return Mismatch("':'");
      ExprPtr no = Ternary();
      if (no == nullptr) return nullptr;
      call->args.push_back(std::move(condition));
      call->args.push_back(std::move(yes));
      call->args.push_back(std::move(no));
      condition = Bounded(std::move(call));
    }
    --depth_;
    return condition;
  }

  // A row of the same logical operator is one call with all of its terms.
  ExprPtr Logical(std::string_view sign) {
    const bool is_or = sign == "||";
    ExprPtr first = is_or ? Logical("&&") : Binary(0);
    if (first == nullptr || !Is(sign)) return first;
    ExprPtr call = New(ExprKind::kCall, Now().pos, is_or ? "_||_" : "_&&_");
    call->args.push_back(std::move(first));
    while (Take(sign)) {
      ExprPtr next = is_or ? Logical("&&") : Binary(0);
      if (next == nullptr) return nullptr;
      call->args.push_back(std::move(next));
    }
    return Bounded(std::move(call));
  }

  std::string_view BinaryOperator(int level) const {
    if (level == 0 && Word("in")) return "@in";
    if (Now().kind != TokenKind::kSign) return {};
    struct Sign {
      std::string_view sign, name;
      int level;
    };
    static constexpr std::array<Sign, 11> kSigns = {{{"==", "_==_", 0},
                                                     {"!=", "_!=_", 0},
                                                     {"<=", "_<=_", 0},
                                                     {">=", "_>=_", 0},
                                                     {"<", "_<_", 0},
                                                     {">", "_>_", 0},
                                                     {"+", "_+_", 1},
                                                     {"-", "_-_", 1},
                                                     {"*", "_*_", 2},
                                                     {"/", "_/_", 2},
                                                     {"%", "_%_", 2}}};
    for (const Sign& one : kSigns) {
      if (one.level == level && one.sign == Now().text) return one.name;
    }
    return {};
  }

  ExprPtr Binary(int level) {
    if (level == 3) return Unary();
    ExprPtr left = Binary(level + 1);
    while (left != nullptr) {
      const std::string_view name = BinaryOperator(level);
      if (name.empty()) break;
      ExprPtr call = New(ExprKind::kCall, Now().pos, name);
      ++at_;
      ExprPtr right = Binary(level + 1);
      if (right == nullptr) return nullptr;
      call->args.push_back(std::move(left));
      call->args.push_back(std::move(right));
      left = Bounded(std::move(call));
    }
    return left;
  }

  ExprPtr Unary() {
    for (const std::string_view sign : {"!", "-"}) {
      if (!Is(sign)) continue;
      const int pos = Now().pos;
      const TokenKind next = tokens_[at_ + 1].kind;
      if (sign == "-" && (next == TokenKind::kInt || next == TokenKind::kDouble)) break;  // A literal's sign.
      size_t count = 0;
      while (Take(sign)) ++count;
      ExprPtr operand = Member();
      if (operand == nullptr || count % 2 == 0) return operand;
      ExprPtr call = New(ExprKind::kCall, pos, sign == "!" ? "!_" : "-_");
      call->args.push_back(std::move(operand));
      return Bounded(std::move(call));
    }
    return Member();
  }

  ExprPtr Member() {
    ExprPtr expr = Primary();
    while (expr != nullptr) {
      const int pos = Now().pos;
      if (Take(".")) {
        expr = Selected(std::move(expr), pos);
      } else if (Take("[")) {
        const bool optional = Take("?");
        ExprPtr call = New(ExprKind::kCall, pos, optional ? "_[?_]" : "_[_]");
        ExprPtr index = Ternary();
        if (index == nullptr) return nullptr;
        if (!Take("]")) return Mismatch("']'");
        call->args.push_back(std::move(expr));
        call->args.push_back(std::move(index));
        expr = Bounded(std::move(call));
      } else if (Is("{") && IsTypeName(*expr)) {
        return Fail(pos, fmt::format("undeclared reference to '{}' (in container '')", expr->name));
      } else {
        return expr;
      }
    }
    return nullptr;
  }

  static bool IsTypeName(const Expr& expr) {
    return expr.kind == ExprKind::kIdent || (expr.kind == ExprKind::kSelect && IsTypeName(*expr.target));
  }

  ExprPtr Selected(ExprPtr target, int dot) {
    const bool optional = Take("?");
    if (Now().kind != TokenKind::kIdent || Word("in") || Word("true") || Word("false") || Word("null")) {
      return Fail(Now().pos, fmt::format("Syntax error: no viable alternative at input '.{}'", Now().text));
    }
    const std::string_view name = Now().text;
    ++at_;
    const int open = Now().pos;
    if (!optional && Take("(")) {
      ExprPtr call = New(ExprKind::kCall, open, name);
      call->target = std::move(target);
      if (!Arguments(*call)) return nullptr;
      return Expanded(std::move(call));
    }
    ExprPtr select = New(optional ? ExprKind::kCall : ExprKind::kSelect, dot, optional ? "_?._" : name);
    if (optional) {
      ExprPtr literal = New(ExprKind::kLiteral, dot + 2);
      literal->literal = Value::Text(std::string(name));
      select->args.push_back(std::move(target));
      select->args.push_back(std::move(literal));
    } else {
      select->target = std::move(target);
    }
    return Bounded(std::move(select));
  }

  ExprPtr Expanded(ExprPtr call) {
    Issue issue;
    if (!ExpandMacro(*call, &issue)) return Fail(issue.pos, issue.message);
    return Bounded(std::move(call));
  }

  bool Arguments(Expr& call) {
    if (Take(")")) return true;
    do {
      ExprPtr arg = Ternary();
      if (arg == nullptr) return false;
      call.args.push_back(std::move(arg));
    } while (Take(","));
    if (Take(")")) return true;
    Mismatch("')'");
    return false;
  }

  ExprPtr Primary() {
    const Token& token = Now();
    switch (token.kind) {
      case TokenKind::kIdent:
        return Identifier(false);
      case TokenKind::kString:
      case TokenKind::kBytes: {
        ExprPtr literal = New(ExprKind::kLiteral, token.pos);
        literal->literal = token.kind == TokenKind::kString ? Value::Text(token.value) : Value::Of(Bytes{token.value});
        ++at_;
        return literal;
      }
      case TokenKind::kInt:
      case TokenKind::kUint:
      case TokenKind::kDouble:
        return Number(token.pos, false);
      case TokenKind::kEnd:
        return Mismatch(kOperand);
      case TokenKind::kSign:
        break;
    }
    const int pos = token.pos;
    if (Take("-")) return Number(pos, true);
    if (Take("(")) {
      ExprPtr inner = Ternary();
      if (inner == nullptr) return nullptr;
      return Take(")") ? std::move(inner) : Mismatch("')'");
    }
    if (Take("[")) return ListLiteral(pos);
    if (Take("{")) return MapLiteral(pos);
    if (Take(".")) {
      if (Now().kind == TokenKind::kIdent) return Identifier(true);
      return Mismatch("IDENTIFIER");
    }
    return Mismatch(kOperand);
  }

  ExprPtr Identifier(bool rooted) {
    const Token& token = Now();
    const std::string_view name = token.text;
    ExprPtr expr = New(ExprKind::kLiteral, token.pos);
    if (!rooted && (name == "true" || name == "false")) {
      expr->literal = Value::Bool(name == "true");
      ++at_;
      return expr;
    }
    if (!rooted && name == "null") {
      ++at_;
      return expr;
    }
    if (name == "in" || name == "true" || name == "false" || name == "null") return Mismatch(kOperand);
    if (IsReservedWord(name)) return Fail(token.pos, fmt::format("reserved identifier: {}", name));
    ++at_;
    expr->kind = ExprKind::kIdent;
    expr->name = name;
    const int open = Now().pos;
    if (!Take("(")) return expr;
    expr->kind = ExprKind::kCall;
    expr->pos = open;
    if (!Arguments(*expr)) return nullptr;
    return Expanded(std::move(expr));
  }

  ExprPtr Number(int pos, bool negative) {
    const Token& token = Now();
    ExprPtr literal = New(ExprKind::kLiteral, pos);
    std::string digits(token.text);
    ++at_;
    if (token.kind == TokenKind::kDouble) {
      const double number = std::strtod(digits.c_str(), nullptr);
      literal->literal = Value::Of(negative ? -number : number);
      return literal;
    }
    const bool is_unsigned = token.kind == TokenKind::kUint;
    if (is_unsigned) digits.pop_back();
    const bool hex = digits.size() > 2 && (digits[1] == 'x' || digits[1] == 'X');
    const std::string text = (negative ? "-" : "") + (hex ? digits.substr(2) : digits);
    const char* end = text.data() + text.size();
    if (is_unsigned) {
      uint64_t number = 0;
      const auto [stop, error] = std::from_chars(text.data(), end, number, hex ? 16 : 10);
      if (error != std::errc() || stop != end) return Fail(pos, "invalid uint literal");
      literal->literal = Value::Of(number);
      return literal;
    }
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, number, hex ? 16 : 10);
    if (error != std::errc() || stop != end) return Fail(pos, "invalid int literal");
    literal->literal = Value::Int(number);
    return literal;
  }

  ExprPtr ListLiteral(int pos) {
    ExprPtr list = New(ExprKind::kList, pos);
    while (!Take("]")) {
      list->optional.push_back(Take("?"));
      ExprPtr item = Ternary();
      if (item == nullptr) return nullptr;
      list->args.push_back(std::move(item));
      if (!Take(",") && !Is("]")) return Mismatch("']'");
    }
    return Bounded(std::move(list));
  }

  ExprPtr MapLiteral(int pos) {
    ExprPtr map = New(ExprKind::kMap, pos);
    while (!Take("}")) {
      map->optional.push_back(Take("?"));
      ExprPtr key = Ternary();
      if (key == nullptr) return nullptr;
      if (!Take(":")) return Mismatch("':'");
      ExprPtr value = Ternary();
      if (value == nullptr) return nullptr;
      map->args.push_back(std::move(key));
      map->args.push_back(std::move(value));
      if (!Take(",") && !Is("}")) return Mismatch("'}'");
    }
    return Bounded(std::move(map));
  }

  std::vector<Token> tokens_;
  std::vector<Issue>* issues_;
  size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

ExprPtr Parse(std::string_view source, std::vector<Issue>* issues) {
  if (source.size() > kMaxExprBytes) {
    issues->push_back(
        {0, fmt::format("expression code point size exceeds limit: size: {}, limit {}", source.size(), kMaxExprBytes)});
    return nullptr;
  }
  const size_t before = issues->size();
  std::vector<Token> tokens = Tokenize(source, issues);
  ExprPtr expr = Parser(std::move(tokens), issues).Run();
  return issues->size() == before ? std::move(expr) : nullptr;
}

}  // namespace basalt::kubesim::cel
