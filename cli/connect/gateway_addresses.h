#pragma once

// The gateways that --gateway names, one after the other. Blocking; any thread.
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace basalt::cli {

// Calls `ask` with an address until it returns true, which is returned then. `gateways`: addresses and names, comma
// separated; a name is looked up when its turn comes, and where it cannot be, `failures` says why. INVALID_ARGUMENT
// names flag, value and rule; nobody is asked then.
absl::StatusOr<bool> AskInTurn(const std::string& gateways, std::vector<std::string>& failures,
                               absl::FunctionRef<bool(const std::string& address)> ask);

// UNAVAILABLE or another code: nobody has given the answer, for these reasons, with what to do.
absl::Status NoGateway(absl::StatusCode code, const std::vector<std::string>& failures);

}  // namespace basalt::cli
