#pragma once

// The functions and operators of the language, by name. Each tells its arguments' types apart itself: where the checker
// saw dyn, only they know. A member's receiver is the first argument.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kubesim/schema/cel/evaluator.h"
#include "kubesim/schema/cel/value/value.h"

namespace basalt::kubesim::cel {

using Args = std::vector<Value>;
using Function = absl::StatusOr<Value> (*)(const Args& args, Budget& budget);

struct NamedFunction {
  std::string_view name;
  Function function;
};

// Null for a name that no function has.
Function FindFunction(std::string_view name);

// One table per file.
const std::vector<NamedFunction>& OperatorFunctions();
const std::vector<NamedFunction>& ConversionFunctions();
const std::vector<NamedFunction>& TextFunctions();
const std::vector<NamedFunction>& ListFunctions();
const std::vector<NamedFunction>& TimeFunctions();
const std::vector<NamedFunction>& QuantityFunctions();
const std::vector<NamedFunction>& FormatFunctions();
const std::vector<NamedFunction>& NetFunctions();

// "%s and %d" with its arguments put in; errors as the string extension words them.
absl::StatusOr<std::string> FormatText(std::string_view format, const Value& list, Budget& budget);

absl::StatusOr<Value> ListsJoined(const Value& a, const Value& b, Budget& budget);

}  // namespace basalt::kubesim::cel
