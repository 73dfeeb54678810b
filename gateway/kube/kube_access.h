#pragma once

// What the hub needs of Kubernetes. Callbacks come on the hub's loop, never before the call returns.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/rpc/peers.h"

namespace basalt::gateway {

// "create", "patch", "delete", "deletecollection", as RBAC and the metrics name them.
std::string_view VerbOf(const v1::WriteRequest& request);

// One object, or one kind, under watch. Destroying it ends that, but not from within its callback.
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

struct WantedKind {
  std::string group;         // Empty: the core group.
  std::string version = {};  // Empty: any.
  std::string plural = {};   // Empty: the kind is known by its name,
  std::string kind = {};     // "PyTorchJob".
};

struct ServedKind {
  std::string version = {};
  std::string plural = {};
  bool is_namespaced = true;
  bool is_watchable = true;  // It can be listed and watched.
};

// How the kind is served: the last word of the search. Without a version: it is not served now; said once, and looked
// for again now and then.
using KindFound = std::function<void(const ServedKind& served)>;

// The objects of one kind that somebody wants, under one watch: what becomes of them. Called on the hub's loop, never
// before Watch returns, and must not destroy the watch.
class KindListener {
 public:
  virtual ~KindListener() = default;
  // The watch passes on nothing else. What is wanted from now on may have passed already, and must be read.
  virtual bool Wants(std::string_view ns, std::string_view name) const = 0;
  // All of them as of `version`, less what was not wanted yet when the list came by.
  virtual void OnReplaced(std::vector<kube::v1::Object> objects, int64_t version) = 0;
  // A state, which may be an older one than is known.
  virtual void OnState(kube::v1::Object object) = 0;
  virtual void OnGone(const kube::v1::Object& last) = 0;
  // Said once each, and asked again now and then until it is otherwise.
  virtual void OnNotServed() = 0;
  virtual void OnForbidden(const std::string& message) = 0;
};

struct ReadObject {
  std::shared_ptr<const kube::v1::Object> object;  // Null: there is no such object.
  int64_t version = 0;                             // As of which that holds.
};

class KindWatch : public ObjectWatch {
 public:
  // One object of the kind as the API server has it now, projected as the watch projects it. `done` comes on the hub's
  // loop, never before Read returns, and not after the end of the watch.
  virtual void Read(const std::string& ns, const std::string& name, rpc::Done<ReadObject> done) = 0;
};

class KubeAccess {
 public:
  virtual ~KubeAccess() = default;
  // Statuses as GatewayService.Write has them. `job_uid`: of the job that what is created has to name as its owner;
  // empty: of none.
  virtual void Write(v1::WriteRequest request, const std::string& job_uid, rpc::Done<v1::WriteResponse> done) = 0;
  virtual void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) = 0;
  virtual std::unique_ptr<ObjectWatch> Watch(const v1::Resource& resource, const std::string& ns,
                                             const std::string& name, ObjectSeen seen) = 0;
  // `absent`: it is known not to be served just now; that is not said again, and the first look comes after a while.
  virtual std::unique_ptr<KindSearch> FindKind(const WantedKind& wanted, bool absent, KindFound found) = 0;
  // Of each object identity and, as JSON, what rules of grouping read. `listener` outlives the watch.
  virtual std::unique_ptr<KindWatch> WatchKind(const v1::Resource& resource, KindListener& listener) = 0;
  // Ends every write that has not been sent and whose owner is stale, with FAILED_PRECONDITION or UNAVAILABLE.
  virtual void DropUnsent(const std::function<bool(const v1::Owner&)>& is_stale) = 0;
  // The API server's time; as long as it is not known, the local one.
  virtual absl::Time ApiNow() = 0;
  // The same in milliseconds for replicas; 0 as long as it is not known.
  virtual int64_t ApiTimeMs() = 0;
};

}  // namespace basalt::gateway
