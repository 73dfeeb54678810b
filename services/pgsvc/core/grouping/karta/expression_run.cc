// The evaluation of expressions of Kartas.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/pgsvc/core/grouping/karta/expression_node.h"

namespace basalt::pgsvc {
namespace {

using Node = Expression::Node;
using Kind = Node::Kind;

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
    order = -1;  // jq's order of types.
  } else if (right.is_null() && (left.is_number() || left.is_string())) {
    order = 1;
  } else {
    return Invalid(fmt::format("{} and {} have no order", TypeOf(left), TypeOf(right)));
  }
  return sign == "<" ? order < 0 : sign == "<=" ? order <= 0 : sign == ">" ? order > 0 : order >= 0;
}

using Member = json::key_value_pair;

// Returns the members in the order of their keys, as jq does.
std::vector<const Member*> SortedMembers(const json::value& object) {
  std::vector<const Member*> members;
  for (const Member& member : object.get_object()) members.push_back(&member);
  std::sort(members.begin(), members.end(), [](const Member* a, const Member* b) { return a->key() < b->key(); });
  return members;
}

// Returns the number of characters of a UTF-8 text.
size_t CharactersOf(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0U) != 0x80U; }));
}

// One evaluation, with a fixed limit of bytes, and as many steps as the budget has. Its values point into the input,
// into the expression, or into `made_`.
class Evaluation {
 public:
  using Values = std::vector<const json::value*>;

  explicit Evaluation(StepBudget& budget) : budget_(budget) {}

  // Appends the values of the node. If the node fails, appends those that it yielded before.
  absl::Status Run(const Node& node, const json::value& input, Values& out) {
    if (!budget_.Take()) return TooManySteps();
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
        return budget_.is_spent() ? TooManySteps() : absl::OkStatus();
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

  // Charges the size of the whole value, before it is copied.
  absl::Status ChargeWhole(const json::value& value) {
    BASALT_RETURN_IF_ERROR(Charge(sizeof(json::value)));
    if (value.is_string()) return Charge(value.get_string().size());
    if (value.is_array()) {
      for (const json::value& element : value.get_array()) BASALT_RETURN_IF_ERROR(ChargeWhole(element));
    }
    if (value.is_object()) {
      for (const Member& member : value.get_object()) {
        BASALT_RETURN_IF_ERROR(Charge(member.key().size()));
        BASALT_RETURN_IF_ERROR(ChargeWhole(member.value()));
      }
    }
    return absl::OkStatus();
  }

 private:
  static constexpr size_t kBytesOfStep = 64;

  absl::Status TooManySteps() const {
    return Invalid(fmt::format("{} steps are not enough for it and for what was evaluated before", budget_.most()));
  }
  absl::Status Put(const json::value& value, Values& out) {
    if (!budget_.Take()) return TooManySteps();
    if (out.size() >= Expression::kMostValues) {
      return Invalid(fmt::format("it yields more than {} values", Expression::kMostValues));
    }
    out.push_back(&value);
    return absl::OkStatus();
  }
  absl::Status Make(json::value value, Values& out) { return Put(made_.emplace_back(std::move(value)), out); }
  // Charges the size of something, before it is made.
  absl::Status Charge(size_t bytes) {
    if (bytes > bytes_) return Invalid(fmt::format("it makes more than {} bytes", Expression::kMostBytes));
    bytes_ -= bytes;
    if (!budget_.Take(static_cast<int64_t>(bytes / kBytesOfStep))) return TooManySteps();
    return absl::OkStatus();
  }

  // Calls `take` for each value of the node, including those before a failure.
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

  absl::Status Index(const Node& node, const json::value& value, Values& out) {
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
    for (const Member* const member : SortedMembers(value)) BASALT_RETURN_IF_ERROR(Put(member->value(), out));
    return absl::OkStatus();
  }

  absl::Status RunElse(const Node& node, const json::value& input, Values& out) {
    Values first;
    Run(*node.children[0], input, first).IgnoreError();
    if (budget_.is_spent()) return TooManySteps();
    bool has_any = false;
    for (const json::value* const value : first) {
      if (!IsTrue(*value)) continue;
      has_any = true;
      BASALT_RETURN_IF_ERROR(Put(*value, out));
    }
    return has_any ? absl::OkStatus() : Run(*node.children[1], input, out);
  }

  absl::Status RunLogic(const Node& node, const json::value& input, Values& out) {
    const bool decides = node.kind == Kind::kOr;  // The value of the left side that decides alone.
    return ForEach(*node.children[0], input, [&](const json::value& left) {
      if (IsTrue(left) == decides) return Make(json::value(decides), out);
      return ForEach(*node.children[1], input,
                     [&](const json::value& right) { return Make(json::value(IsTrue(right)), out); });
    });
  }

  // Combines each value of the right side with each of the left one, in jq's order.
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
    BASALT_RETURN_IF_ERROR(ChargeWhole(value));
    json::array entries;
    for (const Member* const member : SortedMembers(value)) {
      entries.push_back(json::object{{"key", member->key()}, {"value", member->value()}});
    }
    return Make(json::value(std::move(entries)), out);
  }

  std::deque<json::value> made_;
  StepBudget& budget_;
  size_t bytes_ = Expression::kMostBytes;
};

}  // namespace

absl::StatusOr<std::vector<json::value>> RunExpression(const Expression::Node& root, const json::value& input,
                                                       StepBudget& budget) {
  Evaluation evaluation(budget);
  Evaluation::Values found;
  BASALT_RETURN_IF_ERROR(evaluation.Run(root, input, found));
  std::vector<json::value> values;
  values.reserve(found.size());
  for (const json::value* const value : found) {
    BASALT_RETURN_IF_ERROR(evaluation.ChargeWhole(*value));
    values.push_back(*value);
  }
  return values;
}

}  // namespace basalt::pgsvc
