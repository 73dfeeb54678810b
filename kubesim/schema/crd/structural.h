#pragma once

// The rules that a schema has to keep beside what it says: what the API server calls structural, lists and their keys,
// defaults that hold. Pure functions.
#include <string>

#include "absl/status/status.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// INVALID_ARGUMENT: the first place of an openAPIV3Schema that breaks a rule, "<path>.type: Required value: …".
absl::Status CheckStructural(const json::value& schema, const std::string& path);

}  // namespace basalt::kubesim
