#pragma once

// The gateways that --gateway names, one after the other. Blocking; any thread.
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace basalt::cli {

// Calls `ask` with one address after the other until it returns true, and returns whether it did. `gateways` has
// addresses and names, comma separated. A name is looked up when its turn comes; an error of that is added to
// `failures`. INVALID_ARGUMENT names flag, value and rule; `ask` is not called then.
absl::StatusOr<bool> AskInTurn(const std::string& gateways, std::vector<std::string>& failures,
                               absl::FunctionRef<bool(const std::string& address)> ask);

// Returns an error for a request that no gateway has answered, with these reasons and advice.
absl::Status NoGateway(absl::StatusCode code, const std::vector<std::string>& failures);

}  // namespace basalt::cli
