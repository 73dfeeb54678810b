#pragma once

// Decides which parts of which objects each service may patch: an allow list by service and kind, taken from the
// patches that the services send. The listed parts hold data of the suite only. No patch reaches the spec of a pod, a
// selector of pods, or the owner of an object that Kubernetes would delete with its owner. The pod groups that pgsvc
// makes are the exception.
#include "absl/status/status.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/json.h"

namespace basalt::gateway {

// `body` is the content of request.patch(). PERMISSION_DENIED names the field that may not be patched, and the fields
// that may. OK for patches of the gateway itself, which have no owner.
absl::Status CheckPatch(const v1::WriteRequest& request, const json::value& body);

}  // namespace basalt::gateway
