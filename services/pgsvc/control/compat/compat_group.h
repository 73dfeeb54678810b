#pragma once

// One group of the compat profile: of the plain pods of one owner, or of a job. A value; confined to the loop of its
// owner.
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/podgroup/v1/podgroup.pb.h"
#include "common/reconcile/pace.h"
#include "common/rpc/peers.h"
#include "common/runtime/events/object_events.h"
#include "services/pgsvc/control/compat/followed_owner.h"
#include "services/pgsvc/control/compat/group_pods.h"
#include "services/pgsvc/control/compat/missing_group.h"
#include "services/pgsvc/control/group/group_entry.h"

namespace basalt::pgsvc {

// A call of jobsvc about the group, which waits for its turn.
struct EnsureCall {
  podgroup::v1::EnsurePodGroupRequest request;
  rpc::Done<podgroup::v1::EnsurePodGroupResponse> done;
  absl::Time until;  // By the loop's clock: the call is not begun after that.
};
struct DeleteCall {
  enum class Asked { kNothing, kRead, kDeletion };
  podgroup::v1::DeletePodGroupRequest request;
  rpc::Done<podgroup::v1::DeletePodGroupResponse> done;
  absl::Time until;
  Asked asked = Asked::kNothing;  // What was requested from the API server for this call.
  bool was_read = false;          // The observed group is no older than the call.
};
using JobCall = std::variant<EnsureCall, DeleteCall>;

struct CompatGroup : GroupEntry {
  std::unique_ptr<kube::v1::PodGroup> observed;  // Null if Kubernetes has no such group.
  std::unique_ptr<kube::v1::PodGroup> lost;      // The last state of a group that is gone; else null.
  std::deque<JobCall> calls;

  GroupPods pods;                                           // Plain ones.
  std::map<std::string, PodLink> pod_links;                 // By UID.
  std::map<std::string, runtime::ObjectEvents> pod_events;  // By UID of the pods that have a warning.
  ScopeLinks scope_links;
  bool have_pods_moved = false;  // To other groups, since the last pod came.
  MissingGroup missing;

  FollowedOwner owner;
  std::string group_maker;  // OwnerFact::group_maker of an owner that was read, as no watch shows the owner.
  Pace owner_references;    // Somebody else may take the owner references away each time.
  std::string going_owner;  // UID of the owner of pods without a group; the owner is being deleted, or gone.
  absl::Time going_until = absl::InfinitePast();  // Until then the owner's pods may go, too, or be left behind.
};

}  // namespace basalt::pgsvc
