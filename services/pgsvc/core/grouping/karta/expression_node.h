#pragma once

// An expression of a Karta as a tree, between its parser and its evaluation. Values. Pure.
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
    kMember,   // The member `name` of what the first child yields.
    kElement,  // The element `index` of what the first child yields.
    kAll,      // All elements of what the first child yields.
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

struct ParsedExpression {
  std::shared_ptr<const Expression::Node> root;
  std::set<std::string, std::less<>> members;  // As Expression::members.
};
// INVALID_ARGUMENT as of Expression::Parse, without the text of the expression.
absl::StatusOr<ParsedExpression> ParseExpression(std::string_view text);

// INVALID_ARGUMENT as of Expression::Evaluate, without the text of the expression.
absl::StatusOr<std::vector<json::value>> RunExpression(const Expression::Node& root, const json::value& input,
                                                       StepBudget& budget);

}  // namespace basalt::pgsvc
