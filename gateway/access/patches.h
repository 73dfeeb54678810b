#pragma once

// Which parts of which objects each service may patch: an allow list by service and kind, from the patches that the
// services really send. The parts name data of the suite alone: no patch reaches the spec of a pod, what selects pods,
// or who owns an object that Kubernetes would delete with its owner, but for the pod groups that pgsvc makes. Pure.
#include "absl/status/status.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/json.h"

namespace basalt::gateway {

// `body`: of request.patch(). PERMISSION_DENIED names the field that may not be patched, and those that may. OK for
// what the gateway itself patches, which has no owner.
absl::Status CheckPatch(const v1::WriteRequest& request, const json::value& body);

}  // namespace basalt::gateway
