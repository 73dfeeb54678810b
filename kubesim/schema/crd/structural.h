#pragma once

// The rules for schemas themselves: the schema is structural, as the API server defines that, lists have valid keys,
// and defaults are valid. Pure functions.
#include <string>

#include "absl/status/status.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// Checks an openAPIV3Schema. INVALID_ARGUMENT names the first place that breaks a rule: "<path>.type: Required value:
// …".
absl::Status CheckStructural(const json::value& schema, const std::string& path);

}  // namespace basalt::kubesim
