#pragma once

// The expression language of a definition's validation rules (CEL), as a kube-apiserver 1.36 offers it. Compile once,
// evaluate often; a program is immutable and any thread may use it. Nothing here reads a clock or keeps state.
//
// Left out of what the server has: semver(), authorizer, the zone that a timestamp was written with.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kubesim/schema/cel/checker.h"
#include "kubesim/schema/cel/evaluator.h"

namespace basalt::kubesim::cel {

// What one evaluation may cost, and all those of one request together.
inline constexpr int64_t kCallCostLimit = 1000000;
inline constexpr int64_t kRequestCostLimit = 10000000;

class Program {
 public:
  // INVALID_ARGUMENT with the server's words: "compilation failed: ERROR: <input>:1:5: undefined field 'x'\n | …".
  static absl::StatusOr<std::shared_ptr<const Program>> Compile(std::string_view source, const Variables& variables);

  const Type& type() const { return *type_; }
  bool Uses(std::string_view variable) const;
  // INVALID_ARGUMENT with the reason; RESOURCE_EXHAUSTED where it cost more than the budget.
  absl::StatusOr<Value> Run(const Activation& values, Budget* budget) const { return Evaluate(*expr_, values, budget); }

 private:
  Program(ExprPtr expr, Checked checked, std::vector<TypePtr> kept)
      : expr_(std::move(expr)),
        type_(std::move(checked.type)),
        used_(std::move(checked.used)),
        kept_(std::move(kept)) {}

  ExprPtr expr_;
  TypePtr type_;
  std::vector<std::string> used_;
  std::vector<TypePtr> kept_;  // JSON values point to these.
};

}  // namespace basalt::kubesim::cel
