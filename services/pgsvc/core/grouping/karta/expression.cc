#include "services/pgsvc/core/grouping/karta/expression.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "services/pgsvc/core/grouping/karta/expression_node.h"

namespace basalt::pgsvc {
namespace {

absl::Status About(std::string_view text, const absl::Status& status) {
  return Invalid(fmt::format("expression '{}': {}", Excerpt(text), ToStd(status.message())));
}

}  // namespace

absl::StatusOr<Expression> Expression::Parse(std::string_view text) {
  if (text.size() > kLongest) return Invalid(fmt::format("an expression may have {} characters at most", kLongest));
  absl::StatusOr<ParsedExpression> parsed = ParseExpression(text);
  if (!parsed.ok()) return About(text, parsed.status());
  return Expression(std::string(text), std::move(parsed->root), std::move(parsed->members));
}

absl::StatusOr<std::vector<json::value>> Expression::Evaluate(const json::value& input, StepBudget& budget) const {
  absl::StatusOr<std::vector<json::value>> values = RunExpression(*root_, input, budget);
  if (!values.ok()) return About(text_, values.status());
  return values;
}

}  // namespace basalt::pgsvc
