#pragma once

// Bodies in Kubernetes' protobuf envelope, which typed clients (kubectl create namespace, drain, …) send for core
// kinds. Only a few small kinds are known. Pure.
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// UNIMPLEMENTED: a kind, or a field of it, that is not known here. INVALID_ARGUMENT: not such an envelope.
absl::StatusOr<json::value> ParseProtobufBody(std::string_view body);

}  // namespace basalt::kubesim
