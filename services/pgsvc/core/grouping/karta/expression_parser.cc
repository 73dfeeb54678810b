// The parser of expressions of Kartas.
#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/pgsvc/core/grouping/karta/expression_node.h"

namespace basalt::pgsvc {
namespace {

using Node = Expression::Node;
using Kind = Node::Kind;
using NodePtr = std::shared_ptr<const Node>;

constexpr int kDeepest = 32;

// ---- parsing ----

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<NodePtr> Parse() {
    BASALT_ASSIGN_OR_RETURN(NodePtr root, Pipe());
    SkipSpace();
    if (at_ < text_.size()) return Unsupported();
    return root;
  }
  std::set<std::string, std::less<>> TakeMembers() { return std::move(members_); }

 private:
  static NodePtr Make(Kind kind, std::vector<NodePtr> children, std::string name = {}) {
    return std::make_shared<Node>(Node{.kind = kind, .name = std::move(name), .children = std::move(children)});
  }

  absl::StatusOr<NodePtr> Pipe() {
    if (++depth_ > kDeepest) return Invalid("it nests too deeply");
    BASALT_ASSIGN_OR_RETURN(NodePtr left, Else());
    while (Take("|")) {
      BASALT_ASSIGN_OR_RETURN(NodePtr right, Else());
      left = Make(Kind::kPipe, {std::move(left), std::move(right)});
    }
    --depth_;
    return left;
  }

  // "//" groups from the right: a // (b // c).
  absl::StatusOr<NodePtr> Else() {
    if (++depth_ > kDeepest) return Invalid("it nests too deeply");
    BASALT_ASSIGN_OR_RETURN(NodePtr left, Or());
    if (Take("//")) {
      BASALT_ASSIGN_OR_RETURN(NodePtr right, Else());
      left = Make(Kind::kElse, {std::move(left), std::move(right)});
    }
    --depth_;
    return left;
  }

  absl::StatusOr<NodePtr> Or() {
    BASALT_ASSIGN_OR_RETURN(NodePtr left, And());
    while (TakeWord("or")) {
      BASALT_ASSIGN_OR_RETURN(NodePtr right, And());
      left = Make(Kind::kOr, {std::move(left), std::move(right)});
    }
    return left;
  }

  absl::StatusOr<NodePtr> And() {
    BASALT_ASSIGN_OR_RETURN(NodePtr left, Comparison());
    while (TakeWord("and")) {
      BASALT_ASSIGN_OR_RETURN(NodePtr right, Comparison());
      left = Make(Kind::kAnd, {std::move(left), std::move(right)});
    }
    return left;
  }

  absl::StatusOr<NodePtr> Comparison() {
    BASALT_ASSIGN_OR_RETURN(NodePtr left, Sum());
    for (const char* sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!Take(sign)) continue;
      BASALT_ASSIGN_OR_RETURN(NodePtr right, Sum());
      return Make(Kind::kCompare, {std::move(left), std::move(right)}, sign);
    }
    return left;
  }

  absl::StatusOr<NodePtr> Sum() {
    BASALT_ASSIGN_OR_RETURN(NodePtr left, Product());
    while (true) {
      const bool adds = Take("+");
      if (!adds && !Take("-")) return left;
      BASALT_ASSIGN_OR_RETURN(NodePtr right, Product());
      left = Make(adds ? Kind::kAdd : Kind::kSubtract, {std::move(left), std::move(right)});
    }
  }

  absl::StatusOr<NodePtr> Product() {
    BASALT_ASSIGN_OR_RETURN(NodePtr left, Term());
    while (Take("*")) {
      BASALT_ASSIGN_OR_RETURN(NodePtr right, Term());
      left = Make(Kind::kMultiply, {std::move(left), std::move(right)});
    }
    return left;
  }

  absl::StatusOr<NodePtr> Term() {
    SkipSpace();
    NodePtr term;
    if (Take("(")) {
      BASALT_ASSIGN_OR_RETURN(term, Pipe());
      if (!Take(")")) return Invalid("')' is missing");
      Node whole = *term;
      whole.is_whole = true;
      term = std::make_shared<Node>(std::move(whole));
    } else if (Next() == '.') {
      term = Make(Kind::kInput, {});
      const size_t dot = at_;
      ++at_;
      const char first = Next();
      // The dot stands alone or before a bracket; otherwise it belongs to a member.
      if (IsNameBegin(first) || first == '"') at_ = dot;
    } else if (Next() == '"') {
      BASALT_ASSIGN_OR_RETURN(std::string text, Text());
      term = Literal(json::value(text));
    } else if (std::isdigit(static_cast<unsigned char>(Next())) != 0) {
      BASALT_ASSIGN_OR_RETURN(const int64_t number, Number());
      term = Literal(number);
    } else {
      BASALT_ASSIGN_OR_RETURN(term, Named());
    }
    return Suffixes(std::move(term));
  }

  static NodePtr Literal(json::value value) {
    return std::make_shared<Node>(Node{.kind = Kind::kLiteral, .literal = std::move(value)});
  }

  absl::StatusOr<NodePtr> Named() {
    if (TakeWord("true")) return Literal(true);
    if (TakeWord("false")) return Literal(false);
    if (TakeWord("null")) return Literal(nullptr);
    if (TakeWord("length")) return Make(Kind::kLength, {});
    if (TakeWord("not")) return Make(Kind::kNot, {});
    if (TakeWord("to_entries")) return Make(Kind::kEntries, {});
    return Unsupported();
  }

  absl::StatusOr<NodePtr> Suffixes(NodePtr term) {
    for (int i = 0; i < kDeepest; ++i) {
      if (Next() == '?') {
        ++at_;
        term = Optional(term);
      } else if (Next() == '.' && at_ + 1 < text_.size()) {
        ++at_;
        if (Next() == '[') continue;
        std::string name;
        if (Next() == '"') {
          BASALT_ASSIGN_OR_RETURN(name, Text());
        } else {
          while (IsNamePart(Next())) name += text_[at_++];
          if (name.empty()) return Unsupported();
        }
        term = Member(std::move(term), std::move(name));
      } else if (Next() == '[') {
        ++at_;
        BASALT_ASSIGN_OR_RETURN(term, Bracket(std::move(term)));
      } else {
        return term;
      }
    }
    return Invalid("it nests too deeply");
  }

  absl::StatusOr<NodePtr> Bracket(NodePtr term) {
    SkipSpace();
    if (Take("]")) return Make(Kind::kAll, {std::move(term)});
    NodePtr taken;
    if (Next() == '"') {
      BASALT_ASSIGN_OR_RETURN(std::string name, Text());
      taken = Member(std::move(term), std::move(name));
    } else {
      const bool is_negative = Take("-");
      if (std::isdigit(static_cast<unsigned char>(Next())) == 0) return Unsupported();
      BASALT_ASSIGN_OR_RETURN(const int64_t index, Number());
      taken = std::make_shared<Node>(
          Node{.kind = Kind::kElement, .index = is_negative ? -index : index, .children = {std::move(term)}});
    }
    if (!Take("]")) return Unsupported();
    return taken;
  }

  // Applies a '?' behind the term: to the last part of a path, or to all of a term in parentheses.
  static NodePtr Optional(const NodePtr& term) {
    const bool is_path = term->kind == Kind::kMember || term->kind == Kind::kElement || term->kind == Kind::kAll;
    if (!is_path || term->is_whole) return Make(Kind::kMaybe, {term});
    Node optional = *term;
    optional.is_optional = true;
    return std::make_shared<Node>(std::move(optional));
  }

  NodePtr Member(NodePtr of, std::string name) {
    const bool is_key = of->kind == Kind::kMember && (of->name == "labels" || of->name == "annotations");
    if (!is_key) members_.insert(name);
    return Make(Kind::kMember, {std::move(of)}, std::move(name));
  }

  absl::StatusOr<std::string> Text() {
    const size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return Invalid("a text does not end");
    ++at_;
    const std::string_view literal = text_.substr(begin, at_ - begin);
    if (literal.find("\\(") != std::string_view::npos) return Invalid("a text with an expression in it is not known");
    BASALT_ASSIGN_OR_RETURN(const json::value value, ParseJson(literal));
    return std::string(value.as_string());
  }

  absl::StatusOr<int64_t> Number() {
    int64_t number = 0;
    while (std::isdigit(static_cast<unsigned char>(Next())) != 0) {
      if (number > INT32_MAX) return Invalid("a number is too large");
      number = number * 10 + (text_[at_++] - '0');
    }
    if (Next() == '.') return Invalid("numbers must be integers");
    return number;
  }

  static bool IsNameBegin(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  static bool IsNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  char Next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipSpace() {
    while (std::isspace(static_cast<unsigned char>(Next())) != 0) ++at_;
  }
  bool Take(std::string_view sign) {
    SkipSpace();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(sign)) return false;
    // jq reads "|=", "//=" and the like as assignments: "|" and "//" are not the beginnings of these.
    if ((sign == "|" || sign == "+" || sign == "-" || sign == "*" || sign == "//") && rest.size() > sign.size() &&
        rest[sign.size()] == '=') {
      return false;
    }
    at_ += sign.size();
    return true;
  }
  bool TakeWord(std::string_view word) {
    SkipSpace();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(word) || (rest.size() > word.size() && IsNamePart(rest[word.size()]))) return false;
    at_ += word.size();
    return true;
  }
  absl::Status Unsupported() const {
    return Invalid(at_ >= text_.size() ? "it ends too early"
                                       : fmt::format("'{}' is not known here", Excerpt(text_.substr(at_))));
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  std::set<std::string, std::less<>> members_;
};

}  // namespace

absl::StatusOr<ParsedExpression> ParseExpression(std::string_view text) {
  Parser parser(text);
  BASALT_ASSIGN_OR_RETURN(NodePtr root, parser.Parse());
  return ParsedExpression{.root = std::move(root), .members = parser.TakeMembers()};
}

}  // namespace basalt::pgsvc
