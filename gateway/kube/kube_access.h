#pragma once

// What the hub needs of Kubernetes. Callbacks come on the hub's loop, never before the call returns.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/rpc/peers.h"

namespace basalt::gateway {

// "create", "patch", "delete", "deletecollection", as RBAC and the metrics name them.
std::string_view VerbOf(const v1::WriteRequest& request);

// One object under watch. Destroying it ends that, but not from within its callback.
class ObjectWatch {
 public:
  virtual ~ObjectWatch() = default;
};

// The newest state, without its JSON; null: there is no such object. First as soon as that is known, then at each
// change. PERMISSION_DENIED: it must not be watched; NOT_FOUND: its kind is not served in that version. Both are said
// once, and asked again now and then until it is otherwise.
using ObjectSeen = std::function<void(absl::StatusOr<std::shared_ptr<const kube::v1::Object>>)>;

// One kind that is looked for. Destroying it ends that, but not from within its callback.
class KindSearch {
 public:
  virtual ~KindSearch() = default;
};

// The version in which the kind is served: the last word of the search. Empty: it is not served now; said once, and
// looked for again now and then.
using KindFound = std::function<void(const std::string& version)>;

class KubeAccess {
 public:
  virtual ~KubeAccess() = default;
  // Statuses as GatewayService.Write has them.
  virtual void Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) = 0;
  virtual void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) = 0;
  virtual std::unique_ptr<ObjectWatch> Watch(const v1::Resource& resource, const std::string& ns,
                                             const std::string& name, ObjectSeen seen) = 0;
  // `absent`: it is known not to be served just now; that is not said again, and the first look comes after a while.
  virtual std::unique_ptr<KindSearch> FindKind(const std::string& group, const std::string& plural, bool absent,
                                               KindFound found) = 0;
  // Ends every write that has not been sent and whose owner is stale, with FAILED_PRECONDITION or UNAVAILABLE.
  virtual void DropUnsent(const std::function<bool(const v1::Owner&)>& is_stale) = 0;
  // The API server's time; as long as it is not known, the local one.
  virtual absl::Time ApiNow() = 0;
  // The same in milliseconds for replicas; 0 as long as it is not known.
  virtual int64_t ApiTimeMs() = 0;
};

}  // namespace basalt::gateway
