#pragma once

// Bodies in Kubernetes' protobuf envelope, which typed clients (kubectl create deployment, run, drain, …) send for
// built-in kinds. The answer is the object as such a client would have written it in JSON. Pure.
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// UNIMPLEMENTED: a kind, or a field of it, that is not known here: it is named, never dropped. INVALID_ARGUMENT: not
// such an envelope, or not what its fields can hold.
absl::StatusOr<json::value> ParseProtobufBody(std::string_view body);

}  // namespace basalt::kubesim
