#pragma once

// The operations of Kubernetes that the hub needs. Callbacks come on the hub's loop, never before the call returns.
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

// Returns "create", "patch", "delete" or "deletecollection", as RBAC and the metrics name them.
std::string_view VerbOf(const v1::WriteRequest& request);

// One object, or one kind, under watch. Destroying this ends the watch. Must not be destroyed from within its callback.
class ObjectWatch {
 public:
  virtual ~ObjectWatch() = default;
};

// Receives the newest state, without its JSON; null if there is no such object. The first call comes as soon as that is
// known, then one at each change. PERMISSION_DENIED: the object must not be watched; NOT_FOUND: its kind is not served
// in that version. Either is reported once, and the watch tries again now and then until it succeeds.
using ObjectSeen = std::function<void(absl::StatusOr<std::shared_ptr<const kube::v1::Object>>)>;

// A search for one kind. Destroying this ends the search. Must not be destroyed from within its callback.
class KindSearch {
 public:
  virtual ~KindSearch() = default;
};

struct WantedKind {
  std::string group;         // Empty for the core group.
  std::string version = {};  // Empty for any version.
  std::string plural = {};   // Empty if the kind is known by its name.
  std::string kind = {};     // A name such as "PyTorchJob".
};

struct ServedKind {
  std::string version = {};
  std::string plural = {};
  bool is_namespaced = true;
  bool is_watchable = true;  // The kind can be listed and watched.
};

// Receives how the kind is served, which ends the search. Without a version, the kind is not served now: this is
// reported once, and the search goes on, with a look now and then.
using KindFound = std::function<void(const ServedKind& served)>;

// Receives the changes of the wanted objects of one kind, which are under one watch. Called on the hub's loop, never
// before WatchKind returns. Must not destroy the watch.
class KindListener {
 public:
  virtual ~KindListener() = default;
  // The watch passes on wanted objects only. An object that becomes wanted may have passed already, and must be read.
  virtual bool Wants(std::string_view ns, std::string_view name) const = 0;
  // Receives all wanted objects as of `version`, except those that were not wanted yet when the list brought them.
  virtual void OnReplaced(std::vector<kube::v1::Object> objects, int64_t version) = 0;
  // Receives a state, which may be older than the known one.
  virtual void OnState(kube::v1::Object object) = 0;
  virtual void OnGone(const kube::v1::Object& last) = 0;
  // The kind is not served. Called once; the watch tries again now and then until the kind is served.
  virtual void OnNotServed() = 0;
  // The kind must not be listed or watched. Called once; the watch tries again now and then until it may.
  virtual void OnForbidden(const std::string& message) = 0;
};

struct ReadObject {
  std::shared_ptr<const kube::v1::Object> object;  // Null if there is no such object.
  int64_t version = 0;                             // The version as of which `object` holds.
};

class KindWatch : public ObjectWatch {
 public:
  // Reads the present state of one object of the kind from the API server, projected as the watch projects it. `done`
  // comes on the hub's loop, never before Read returns, and not after the end of the watch.
  virtual void Read(const std::string& ns, const std::string& name, rpc::Done<ReadObject> done) = 0;
};

class KubeAccess {
 public:
  virtual ~KubeAccess() = default;
  // Statuses are those of GatewayService.Write. `job_uid` is the UID of the job that an object to be created has to
  // name as its owner. Empty if the object need not name one.
  virtual void Write(v1::WriteRequest request, const std::string& job_uid, rpc::Done<v1::WriteResponse> done) = 0;
  virtual void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) = 0;
  virtual std::unique_ptr<ObjectWatch> Watch(const v1::Resource& resource, const std::string& ns,
                                             const std::string& name, ObjectSeen seen) = 0;
  // `absent` means that the kind is known not to be served just now: this is not reported again, and the first look
  // comes after a while.
  virtual std::unique_ptr<KindSearch> FindKind(const WantedKind& wanted, bool absent, KindFound found) = 0;
  // Passes on the identity of each object and, as JSON, the fields that rules of grouping read. `listener` must outlive
  // the watch.
  virtual std::unique_ptr<KindWatch> WatchKind(const v1::Resource& resource, KindListener& listener) = 0;
  // Ends every write that has not been sent and whose owner is stale, with FAILED_PRECONDITION or UNAVAILABLE.
  virtual void DropUnsent(const std::function<bool(const v1::Owner&)>& is_stale) = 0;
  // Returns the API server's time; the local time while the server's is not known.
  virtual absl::Time ApiNow() = 0;
  // Returns the API server's time in milliseconds, for replicas; 0 while it is not known.
  virtual int64_t ApiTimeMs() = 0;
};

}  // namespace basalt::gateway
