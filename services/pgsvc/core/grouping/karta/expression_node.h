#pragma once

// The tree of an expression of a Karta, between parser and evaluation. Values. Pure.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "services/pgsvc/core/grouping/karta/expression.h"

namespace basalt::pgsvc {

struct Expression::Node {
  enum class Kind {
    kInput,
    kLiteral,
    kMember,   // The member `name` of each value of the first child.
    kElement,  // The element `index` of each value of the first child.
    kAll,      // All elements of each value of the first child.
    kMaybe,    // The values of the first child before it fails.
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
  std::string name = {};     // For a member or a comparison.
  int64_t index = 0;         // For an element; counts from the end if below 0.
  bool is_whole = false;     // The expression is in parentheses.
  bool is_optional = false;  // For a member or element: values that do not have it are left out.
  json::value literal = {};  // For kLiteral.
  std::vector<std::shared_ptr<const Node>> children = {};
};

struct ParsedExpression {
  std::shared_ptr<const Expression::Node> root;
  std::set<std::string, std::less<>> members;  // See Expression::members().
};
// Returns the errors of Expression::Parse, without the text of the expression.
absl::StatusOr<ParsedExpression> ParseExpression(std::string_view text);

// Returns the errors of Expression::Evaluate, without the text of the expression.
absl::StatusOr<std::vector<json::value>> RunExpression(const Expression::Node& root, const json::value& input,
                                                       StepBudget& budget);

}  // namespace basalt::pgsvc
