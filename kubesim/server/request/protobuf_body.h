#pragma once

// Bodies in Kubernetes' protobuf envelope, which typed clients (kubectl create deployment, run, drain, …) send for
// built-in kinds. The result is the object as such a client would have written it in JSON. Pure.
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// Parses a body. UNIMPLEMENTED names a kind or a field that is not known here; no field is dropped. INVALID_ARGUMENT if
// the body is no such envelope, or a field has an invalid value.
absl::StatusOr<json::value> ParseProtobufBody(std::string_view body);

}  // namespace basalt::kubesim
