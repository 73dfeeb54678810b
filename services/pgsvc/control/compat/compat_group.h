#pragma once

// One group of the compat profile: the group of one owner's plain pods, of one pod without an owner, or of a job. A
// value; confined to the loop of its owner.
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
#include "services/pgsvc/core/empty_group.h"

namespace basalt::pgsvc {

// Calls of jobsvc about the group, which wait for their turn.
struct EnsureCall {
  podgroup::v1::EnsurePodGroupRequest request;
  rpc::Done<podgroup::v1::EnsurePodGroupResponse> done;
  absl::Time until;  // The call does not begin after this time of the loop's clock.
};
struct DeleteCall {
  enum class Asked { kNothing, kRead, kDeletion };
  podgroup::v1::DeletePodGroupRequest request;
  rpc::Done<podgroup::v1::DeletePodGroupResponse> done;
  absl::Time until;
  Asked asked = Asked::kNothing;  // The last request to the API server for this call.
  // Whether the group was read for this call, so that `observed` is no older than the call.
  bool was_read = false;
};
using JobCall = std::variant<EnsureCall, DeleteCall>;

struct CompatGroup : GroupEntry {
  std::unique_ptr<kube::v1::PodGroup> observed;  // Null if Kubernetes has no such group.
  std::unique_ptr<kube::v1::PodGroup> lost;      // The last observed state of a group that is gone; else null.
  std::deque<JobCall> calls;

  GroupPods pods;                                           // The plain pods that name the group or are to name it.
  std::map<std::string, PodLink> pod_links;                 // By UID.
  std::map<std::string, runtime::ObjectEvents> pod_events;  // By UID of the pods that have a warning.
  ScopeLinks scope_links;
  bool have_pods_moved = false;  // Whether pods have moved to other groups since the last pod came.
  MissingGroup missing;

  FollowedOwner owner;
  // OwnerFact::group_maker of the pods' owner when a group was last to be created. Counts only while no watch shows the
  // owner.
  std::string group_maker;
  // Describes the controller that makes the groups of these pods instead of us; empty if there is none.
  std::string Maker() const {
    const kube::v1::Workload* const shown = owner.workload();
    return shown == nullptr ? group_maker : MakerOfGroups(shown->meta().owner_references());
  }
  Pace owner_references;  // Another program may remove the owner references each time.
  // UID of an owner that is being deleted or gone, and that has pods without a group.
  std::string going_owner;
  // Until then the pods of `going_owner` may still be deleted with it, and get no group.
  absl::Time going_until = absl::InfinitePast();
};

}  // namespace basalt::pgsvc
