// Target: an expression of a Karta in the first line, and behind it the object that the expression reads.
#include <string_view>

#include "common/base/json.h"
#include "services/pgsvc/core/grouping/karta/expression.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace basalt;  // NOLINT: one function.
  using fuzz::Require;
  using pgsvc::Expression;
  const std::string_view text = fuzz::TextOf(data, size);
  const size_t end = text.find('\n');
  const absl::StatusOr<Expression> expression = Expression::Parse(text.substr(0, end));
  const absl::StatusOr<json::value> object = ParseJson(end == std::string_view::npos ? "{}" : text.substr(end + 1));
  if (!expression.ok() || !object.ok()) return 0;
  constexpr int64_t kSteps = 20'000;
  pgsvc::StepBudget budget(kSteps);
  const auto values = expression->Evaluate(*object, budget);
  Require(budget.used() <= kSteps || budget.is_spent(), "an expression takes no more steps than it may");
  pgsvc::StepBudget another(kSteps);
  const auto again = expression->Evaluate(*object, another);
  Require(values.ok() == again.ok() && budget.used() == another.used(), "an expression takes the same steps each time");
  if (!values.ok()) return 0;
  Require(!budget.is_spent(), "an expression with a result has kept to its steps");
  Require(values->size() <= Expression::kMostValues, "an expression yields no more values than it may");
  Require(*values == *again, "an expression yields the same each time");
  return 0;
}
