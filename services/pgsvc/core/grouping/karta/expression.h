#pragma once

// Expressions of a Karta (pod-grouper 6.11): the part of jq that reads an object and always ends. Known are paths
// (.a.b, ."a", .["a"], .[0], .[], each with ?), //, |, and, or, comparisons, + - *, literals, parentheses, length, not,
// to_entries, with jq's precedence and meaning. A value. Pure.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "services/pgsvc/core/grouping/step_budget.h"

namespace basalt::pgsvc {

class Expression {
 public:
  struct Node;  // Internal.

  // The limit of values that an expression yields, as a result or in between.
  static constexpr size_t kMostValues = 10'000;
  // The limit of bytes of the texts and lists that an expression makes, and of its results.
  static constexpr size_t kMostBytes = 1 << 20;
  static constexpr size_t kLongest = 1024;

  // INVALID_ARGUMENT if the text is no expression, is longer than kLongest, nests deeply, or needs more of jq.
  static absl::StatusOr<Expression> Parse(std::string_view text);

  // Returns all values in their order; each value on the way takes a step. INVALID_ARGUMENT if the type of a value does
  // not have an operation, if there are too many values or bytes, or if the budget is spent.
  absl::StatusOr<std::vector<json::value>> Evaluate(const json::value& input, StepBudget& budget) const;
  // The names of all members that are read anywhere, but for keys of labels and annotations.
  const std::set<std::string, std::less<>>& members() const { return members_; }
  const std::string& text() const { return text_; }

 private:
  Expression(std::string text, std::shared_ptr<const Node> root, std::set<std::string, std::less<>> members)
      : text_(std::move(text)), root_(std::move(root)), members_(std::move(members)) {}

  std::string text_;
  std::shared_ptr<const Node> root_;
  std::set<std::string, std::less<>> members_;
};

}  // namespace basalt::pgsvc
