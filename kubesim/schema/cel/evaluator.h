#pragma once

// Computes a checked expression. Pure and bounded: what it costs is counted about as the API server counts it, and what
// costs more than the limit ends with an error.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kubesim/schema/cel/syntax/ast.h"

namespace basalt::kubesim::cel {

// The error of an evaluation that costs too much.
inline constexpr std::string_view kCostExceeded = "operation cancelled: actual cost limit exceeded";

class Budget {
 public:
  explicit Budget(int64_t left) : left_(left) {}
  // An error once more was spent than there was.
  absl::Status Spend(int64_t cost);
  // For what looks at `bytes` of text.
  absl::Status SpendOnText(size_t bytes) { return Spend(static_cast<int64_t>(bytes / 10) + 1); }
  int64_t left() const { return left_; }

 private:
  int64_t left_;
};

using Activation = std::map<std::string, Value, std::less<>>;

absl::StatusOr<Value> Evaluate(const Expr& expr, const Activation& variables, Budget* budget);

}  // namespace basalt::kubesim::cel
