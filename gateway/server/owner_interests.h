#pragma once

// Owners of pods that replicas ask for by kind and name (Interest.watch: "objects/<apiVersion>/<kind>"). A kind is
// under one watch, from the first object of it that is asked for until a while after the last one is not asked for any
// more; of the objects only those are kept that are asked for, and for a short while those that were. An object is sent
// when the watch has shown it, and again when what rules of grouping read of it changes. One that is asked for after
// the list of its kind came by is read; whichever of the read and the watch knows the newer state is believed, also
// about its absence. A kind that the API server does not serve is looked for, once for all objects of it. What cannot
// be sent is sent as unreadable in the place of its objects: of a kind that must not be read, or cannot be watched, of
// Secrets, of what is no kind, and of kinds beyond kMostKinds. Confined to one loop.
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
  // `tell(session, key, object)`: null = there is no such object.
  using Tell = std::function<void(Session&, const InterestKey&, std::shared_ptr<const kube::v1::Object>)>;

  // A bound, since every user who may create a pod may name any kind as the owner of the pod.
  static constexpr size_t kMostKinds = 300;
  // One session's share of them, so that one replica leaves room for the others.
  static constexpr size_t kMostKindsOfOne = 150;
  // For how long a kind stays under watch that nobody asks for.
  static constexpr absl::Duration kLinger = absl::Minutes(10);
  // For how long an object is kept that nobody asks for: a replica that starts again asks for the same ones.
  static constexpr absl::Duration kKept = absl::Minutes(1);
  // Reads of one kind under way at a time, and when one that failed is tried again.
  static constexpr size_t kMostReads = 16;
  static constexpr absl::Duration kReadAgain = absl::Seconds(1);

  OwnerInterests(Loop& loop, KubeAccess& kube, Tell tell);
  ~OwnerInterests();

  // What is known already is told at once. Requires: IsOwnerWatch of the watch.
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

  // The kind under watch; or why the session must not have it watched. Where there are as many as there may be, one
  // that nobody asks for any more makes room.
  absl::StatusOr<Kind*> FindOrMake(const Session& session, const std::string& watch);
  size_t CountKindsOf(const Session& session) const;
  bool DropOneThatLingers();
  void LingerIfUnwanted(const std::string& watch);

  Loop& loop_;
  KubeAccess& kube_;
  const Tell tell_;
  std::map<std::string, std::unique_ptr<Kind>> kinds_;  // By watch.
};

}  // namespace basalt::gateway
