#include "kubesim/schema/cel/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/cel/syntax/parser.h"

namespace basalt::kubesim::cel {
namespace {

// Conversions of what is known beforehand are done beforehand; one that fails makes the whole rule unusable.
absl::Status CheckConstants(const Expr& expr) {
  if (expr.target != nullptr) BASALT_RETURN_IF_ERROR(CheckConstants(*expr.target));
  bool constant = expr.kind == ExprKind::kCall && expr.target == nullptr && expr.args.size() == 1;
  for (const ExprPtr& arg : expr.args) {
    BASALT_RETURN_IF_ERROR(CheckConstants(*arg));
    const bool hidden = arg->kind == ExprKind::kCall && arg->name == "dyn" && arg->target == nullptr;
    constant = constant && (hidden ? *arg->args[0] : *arg).kind == ExprKind::kLiteral;
  }
  static constexpr std::array<std::string_view, 8> kConversions = {"int",    "uint",  "double",   "bool",
                                                                   "string", "bytes", "duration", "timestamp"};
  if (!constant || std::find(kConversions.begin(), kConversions.end(), expr.name) == kConversions.end()) {
    return absl::OkStatus();
  }
  Budget budget(kCallCostLimit);
  return Evaluate(expr, {}, &budget).status();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Program>> Program::Compile(std::string_view source, const Variables& variables) {
  std::vector<Issue> issues;
  ExprPtr expr = Parse(source, &issues);
  Checked checked;
  if (expr != nullptr) checked = Check(*expr, variables, &issues);
  if (!issues.empty()) return EvalError(fmt::format("compilation failed: {}", IssuesText(source, issues)));
  if (const absl::Status constants = CheckConstants(*expr); !constants.ok()) {
    return EvalError(fmt::format("program instantiation failed: {}", ToStd(constants.message())));
  }
  std::vector<TypePtr> kept;
  for (const auto& variable : variables) kept.push_back(variable.second);
  return std::shared_ptr<const Program>(new Program(std::move(expr), std::move(checked), std::move(kept)));
}

bool Program::Uses(std::string_view variable) const {
  return std::find(used_.begin(), used_.end(), variable) != used_.end();
}

}  // namespace basalt::kubesim::cel
