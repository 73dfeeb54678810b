#include "services/pgsvc/core/grouping/karta/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::pgsvc {

struct Expression::Node {
  enum class Kind {
    kInput,
    kLiteral,
    kMember,   // Of what the first child yields.
    kElement,  // The same.
    kAll,      // All elements of the same.
    kMaybe,    // Nothing where the first child fails.
    kPipe,
    kElse,  // "//"
    kAnd,
    kOr,
    kNot,
    kCompare,
    kAdd,
    kSubtract,
    kMultiply,
    kLength,
    kEntries,
  };
  Kind kind = Kind::kInput;
  std::string name = {};     // Of a member or a comparison.
  int64_t index = 0;         // Of an element; below 0: from the end.
  bool is_whole = false;     // It stands in parentheses.
  bool is_optional = false;  // Of a member or element: values that have none are left out.
  json::value literal = {};  // Of kLiteral.
  std::vector<std::shared_ptr<const Node>> children = {};
};

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

  // From the right: a // (b // c).
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
      // "." alone, or with a bracket behind it; else the dot belongs to a member.
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

  // Of a path the last part alone; of anything in parentheses all.
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
    // "|" is not the beginning of "|=", nor "/" of "//".
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

// ---- evaluation ----

bool IsTrue(const json::value& value) { return !value.is_null() && !(value.is_bool() && !value.get_bool()); }

std::string_view TypeOf(const json::value& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "a boolean";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a text";
  return value.is_array() ? "a list" : "an object";
}

std::optional<int64_t> IntegerOf(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64() && value.get_uint64() <= static_cast<uint64_t>(INT64_MAX)) {
    return static_cast<int64_t>(value.get_uint64());
  }
  return std::nullopt;
}

bool IsEqual(const json::value& left, const json::value& right) {
  if (left.is_number() && right.is_number()) return left.to_number<double>() == right.to_number<double>();
  return left == right;
}

absl::StatusOr<bool> Compare(const std::string& sign, const json::value& left, const json::value& right) {
  if (sign == "==") return IsEqual(left, right);
  if (sign == "!=") return !IsEqual(left, right);
  int order = 0;
  if (left.is_number() && right.is_number()) {
    const double a = left.to_number<double>();
    const double b = right.to_number<double>();
    order = a < b ? -1 : (a > b ? 1 : 0);
  } else if (left.is_string() && right.is_string()) {
    order = left.get_string().compare(right.get_string());
  } else if (left.is_null() && (right.is_number() || right.is_string())) {
    order = -1;  // As jq orders types.
  } else if (right.is_null() && (left.is_number() || left.is_string())) {
    order = 1;
  } else {
    return Invalid(fmt::format("{} and {} have no order", TypeOf(left), TypeOf(right)));
  }
  return sign == "<" ? order < 0 : sign == "<=" ? order <= 0 : sign == ">" ? order > 0 : order >= 0;
}

// Characters of a text.
size_t CharactersOf(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0U) != 0x80U; }));
}

// One evaluation: so many steps and bytes in all, whatever it is given. What it yields points into the input, into the
// expression, or into what it has made.
class Evaluation {
 public:
  using Values = std::vector<const json::value*>;

  // Appends what the node yields; where it fails, what it has yielded before.
  absl::Status Run(const Node& node, const json::value& input, Values& out) {
    if (--steps_ < 0) return Invalid(fmt::format("it takes more than {} steps", Expression::kMostSteps));
    switch (node.kind) {
      case Kind::kInput:
        return Put(input, out);
      case Kind::kLiteral:
        return Put(node.literal, out);
      case Kind::kMember:
      case Kind::kElement:
      case Kind::kAll:
        return RunIndex(node, input, out);
      case Kind::kMaybe:
        Run(*node.children[0], input, out).IgnoreError();
        return steps_ < 0 ? Invalid("it takes too many steps") : absl::OkStatus();
      case Kind::kPipe:
        return ForEach(*node.children[0], input,
                       [&](const json::value& value) { return Run(*node.children[1], value, out); });
      case Kind::kElse:
        return RunElse(node, input, out);
      case Kind::kAnd:
      case Kind::kOr:
        return RunLogic(node, input, out);
      case Kind::kNot:
        return Make(json::value(!IsTrue(input)), out);
      case Kind::kCompare:
      case Kind::kAdd:
      case Kind::kSubtract:
      case Kind::kMultiply:
        return RunBinary(node, input, out);
      case Kind::kLength:
        return RunLength(input, out);
      case Kind::kEntries:
        return RunEntries(input, out);
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status Put(const json::value& value, Values& out) {
    if (out.size() >= Expression::kMostValues) {
      return Invalid(fmt::format("it yields more than {} values", Expression::kMostValues));
    }
    out.push_back(&value);
    return absl::OkStatus();
  }
  absl::Status Make(json::value value, Values& out) { return Put(made_.emplace_back(std::move(value)), out); }
  // Before something of that size is made.
  absl::Status Charge(size_t bytes) {
    if (bytes > bytes_) return Invalid(fmt::format("it makes more than {} bytes", Expression::kMostBytes));
    bytes_ -= bytes;
    return absl::OkStatus();
  }

  // `take` of each value that the node yields, the ones before a failure among them.
  template <typename Take>
  absl::Status ForEach(const Node& node, const json::value& input, Take take) {
    Values values;
    absl::Status status = Run(node, input, values);
    for (const json::value* const value : values) BASALT_RETURN_IF_ERROR(take(*value));
    return status;
  }

  absl::Status RunIndex(const Node& node, const json::value& input, Values& out) {
    return ForEach(*node.children[0], input, [&](const json::value& value) {
      absl::Status status = Index(node, value, out);
      if (node.is_optional) return absl::OkStatus();
      return status;
    });
  }

  static absl::Status Index(const Node& node, const json::value& value, Values& out) {
    static const json::value kNull;
    if (node.kind == Kind::kMember) {
      if (value.is_null()) return Put(kNull, out);
      if (!value.is_object()) return Invalid(fmt::format("{} has no member {}", TypeOf(value), node.name));
      const json::value* const member = value.get_object().if_contains(node.name);
      return Put(member == nullptr ? kNull : *member, out);
    }
    if (node.kind == Kind::kElement) {
      if (value.is_null()) return Put(kNull, out);
      if (!value.is_array()) return Invalid(fmt::format("{} has no elements by number", TypeOf(value)));
      const auto& list = value.get_array();
      const int64_t at = node.index < 0 ? static_cast<int64_t>(list.size()) + node.index : node.index;
      const bool is_there = at >= 0 && at < static_cast<int64_t>(list.size());
      return Put(is_there ? list[static_cast<size_t>(at)] : kNull, out);
    }
    if (value.is_array()) {
      for (const json::value& element : value.get_array()) BASALT_RETURN_IF_ERROR(Put(element, out));
      return absl::OkStatus();
    }
    if (!value.is_object()) return Invalid(fmt::format("{} has no elements", TypeOf(value)));
    for (const auto& member : value.get_object()) BASALT_RETURN_IF_ERROR(Put(member.value(), out));
    return absl::OkStatus();
  }

  absl::Status RunElse(const Node& node, const json::value& input, Values& out) {
    Values first;
    Run(*node.children[0], input, first).IgnoreError();
    if (steps_ < 0) return Invalid("it takes too many steps");
    bool has_any = false;
    for (const json::value* const value : first) {
      if (!IsTrue(*value)) continue;
      has_any = true;
      BASALT_RETURN_IF_ERROR(Put(*value, out));
    }
    return has_any ? absl::OkStatus() : Run(*node.children[1], input, out);
  }

  absl::Status RunLogic(const Node& node, const json::value& input, Values& out) {
    const bool decides = node.kind == Kind::kOr;  // The value that needs no right side.
    return ForEach(*node.children[0], input, [&](const json::value& left) {
      if (IsTrue(left) == decides) return Make(json::value(decides), out);
      return ForEach(*node.children[1], input,
                     [&](const json::value& right) { return Make(json::value(IsTrue(right)), out); });
    });
  }

  // Each value of the right side with each of the left one, in jq's order.
  absl::Status RunBinary(const Node& node, const json::value& input, Values& out) {
    return ForEach(*node.children[1], input, [&](const json::value& right) {
      return ForEach(*node.children[0], input,
                     [&](const json::value& left) { return Combine(node, left, right, out); });
    });
  }

  absl::Status Combine(const Node& node, const json::value& left, const json::value& right, Values& out) {
    if (node.kind == Kind::kCompare) {
      BASALT_ASSIGN_OR_RETURN(const bool holds, Compare(node.name, left, right));
      return Make(json::value(holds), out);
    }
    if (node.kind == Kind::kAdd) {
      if (left.is_null()) return Put(right, out);
      if (right.is_null()) return Put(left, out);
      if (left.is_string() && right.is_string()) {
        BASALT_RETURN_IF_ERROR(Charge(left.get_string().size() + right.get_string().size()));
        return Make(json::value(std::string(left.get_string()) + std::string(right.get_string())), out);
      }
    }
    const std::optional<int64_t> a = IntegerOf(left);
    const std::optional<int64_t> b = IntegerOf(right);
    if (!a || !b) return Invalid(fmt::format("{} and {} cannot be calculated with", TypeOf(left), TypeOf(right)));
    int64_t result = 0;
    const bool overflows = node.kind == Kind::kAdd        ? __builtin_add_overflow(*a, *b, &result)
                           : node.kind == Kind::kSubtract ? __builtin_sub_overflow(*a, *b, &result)
                                                          : __builtin_mul_overflow(*a, *b, &result);
    if (overflows) return Invalid("a result is too large");
    return Make(json::value(result), out);
  }

  absl::Status RunLength(const json::value& value, Values& out) {
    if (value.is_null()) return Make(json::value(0), out);
    if (value.is_string()) return Make(json::value(CharactersOf(value.get_string())), out);
    if (value.is_array()) return Make(json::value(value.get_array().size()), out);
    if (value.is_object()) return Make(json::value(value.get_object().size()), out);
    return Invalid(fmt::format("{} has no length", TypeOf(value)));
  }

  absl::Status RunEntries(const json::value& value, Values& out) {
    if (!value.is_object()) return Invalid(fmt::format("{} has no entries", TypeOf(value)));
    BASALT_RETURN_IF_ERROR(Charge(ToText(value).size()));
    json::array entries;
    for (const auto& [key, member] : value.get_object()) {
      entries.push_back(json::object{{"key", key}, {"value", member}});
    }
    return Make(json::value(std::move(entries)), out);
  }

  std::deque<json::value> made_;
  int64_t steps_ = Expression::kMostSteps;
  size_t bytes_ = Expression::kMostBytes;
};

}  // namespace

absl::StatusOr<Expression> Expression::Parse(std::string_view text) {
  if (text.size() > kLongest) return Invalid(fmt::format("an expression may have {} characters at most", kLongest));
  Parser parser(text);
  absl::StatusOr<NodePtr> root = parser.Parse();
  if (!root.ok()) return Invalid(fmt::format("expression '{}': {}", Excerpt(text), ToStd(root.status().message())));
  return Expression(std::string(text), *std::move(root), parser.TakeMembers());
}

absl::StatusOr<std::vector<json::value>> Expression::Evaluate(const json::value& input) const {
  Evaluation evaluation;
  Evaluation::Values found;
  const absl::Status status = evaluation.Run(*root_, input, found);
  if (!status.ok()) return Invalid(fmt::format("expression '{}': {}", Excerpt(text_), ToStd(status.message())));
  std::vector<json::value> values;
  values.reserve(found.size());
  for (const json::value* const value : found) values.push_back(*value);
  return values;
}

}  // namespace basalt::pgsvc
