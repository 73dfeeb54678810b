#pragma once

// Owners of pods that replicas request by kind and name (Interest.watch: "objects/<apiVersion>/<kind>"). A kind is
// under one watch, from the first request for one of its objects until a while after the last one was withdrawn. Only
// requested objects are kept, and for a short while those that were requested. An object is sent when the watch has
// shown it, and again when the fields that rules of grouping read change. An object that is requested after the list of
// its kind came by is read: the newer state of the read and the watch counts, also about its absence. A kind that the
// API server does not serve is looked for, once for all its objects. An unreadable object is sent in the place of one
// that cannot be sent: of a kind that must not be read or cannot be watched, of a Secret, of a watch that names no
// kind, and of kinds beyond kMostKinds. Confined to one loop.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/exec/loop.h"
#include "gateway/kube/kube_access.h"
#include "gateway/route/owner_watch.h"
#include "gateway/session/session.h"

namespace basalt::gateway {

class OwnerInterests {
 public:
  // Called as `notify(session, key, object)`. `object` is null if there is no such object.
  using Notify = std::function<void(Session&, const InterestKey&, std::shared_ptr<const kube::v1::Object>)>;

  // A bound, since every user who may create a pod may name any kind as the owner of the pod.
  static constexpr size_t kMostKinds = 300;
  // One session's share of kMostKinds, so that one replica leaves capacity for the others.
  static constexpr size_t kMostKindsOfOne = 150;
  // How long a kind stays under watch that nobody requests.
  static constexpr absl::Duration kLinger = absl::Minutes(10);
  // How long an object is kept that nobody requests: a replica that starts again requests the same ones.
  static constexpr absl::Duration kKept = absl::Minutes(1);
  // How many reads of one kind are under way at a time.
  static constexpr size_t kMostReads = 16;
  // How long after a failure a read is tried again.
  static constexpr absl::Duration kReadAgain = absl::Seconds(1);

  OwnerInterests(Loop& loop, KubeAccess& kube, Notify notify);
  ~OwnerInterests();

  // Notifies the session at once of a state that is known already. Requires: IsOwnerWatch of the watch.
  void Add(Session& session, const InterestKey& key);
  void Withdraw(Session& session, const InterestKey& key);
  void Forget(Session& session);

  size_t kinds() const { return kinds_.size(); }
  struct Kept {
    size_t objects = 0;
    size_t bytes = 0;
  };
  Kept kept() const;

 private:
  class Kind;

  // Returns the kind under watch, or why the session must not have it watched. If there are as many as there may be, a
  // kind that nobody requests any more gives way.
  absl::StatusOr<Kind*> FindOrMake(const Session& session, const std::string& watch);
  size_t CountKindsOf(const Session& session) const;
  bool DropOneThatLingers();
  void LingerIfUnwanted(const std::string& watch);

  Loop& loop_;
  KubeAccess& kube_;
  const Notify notify_;
  std::map<std::string, std::unique_ptr<Kind>> kinds_;  // By watch.
};

}  // namespace basalt::gateway
