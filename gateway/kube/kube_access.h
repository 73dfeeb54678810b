#pragma once

// What the hub needs of Kubernetes. Callbacks come on the hub's loop, never before the call returns.
#include <functional>
#include <string_view>

#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/rpc/peers.h"

namespace basalt::gateway {

// "create", "patch", "delete", "deletecollection", as RBAC and the metrics name them.
std::string_view VerbOf(const v1::WriteRequest& request);

class KubeAccess {
 public:
  virtual ~KubeAccess() = default;
  // Statuses as GatewayService.Write has them.
  virtual void Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) = 0;
  virtual void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) = 0;
  // Ends every write that has not been sent and whose owner is stale, with FAILED_PRECONDITION or UNAVAILABLE.
  virtual void DropUnsent(const std::function<bool(const v1::Owner&)>& is_stale) = 0;
  virtual absl::Time ApiNow() = 0;
};

}  // namespace basalt::gateway
